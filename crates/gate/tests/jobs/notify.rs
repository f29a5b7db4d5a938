//! Who is told of the end of a job, and of what.

#![expect(clippy::disallowed_methods, reason = "looks at what a program was told")]

use std::path::Path;

use super::scene::*;

/// A program that does something first, and adds a line with what it is told.
fn telling(told: &Path, first: &str) -> Config {
    let script = format!("{first} cat >> \"$1\"; echo >> \"$1\"");
    let command = ["sh", "-c", &script, "sh", told.to_str().unwrap()].map(str::to_owned).to_vec();
    let notify = Some(gate::jobs::Notify { command, ..Default::default() });
    Config { notify, ..Config::default() }
}

#[tokio::test]
async fn a_program_is_told_of_each_end_without_arguments_and_results() {
    let scene = Scene::new();
    let told = scene.folder.path().join("told");
    let process = scene.process();
    process.jobs.govern(telling(&told, ""));
    let mut jobs = Vec::new();
    for does in ["says", "fails"] {
        let job = process.submit(&holder("key:a", "k"), "work", does).await.unwrap();
        jobs.push(process.over(&job).await.0);
    }
    let lines = async {
        loop {
            let text = tokio::task::spawn_blocking({
                let told = told.clone();
                move || std::fs::read_to_string(told).unwrap_or_default()
            });
            let text = text.await.unwrap();
            if text.lines().count() == 2 {
                return text;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let lines = tokio::time::timeout(SOON, lines).await.expect("both are told");
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected = |job: &Job| {
        serde_json::json!({
            "id": job.id, "tool": "work", "caller": "key:a", "state": job.state, "created_at_ms": job.created_at_ms,
            "started_at_ms": job.started_at_ms, "ended_at_ms": job.ended_at_ms,
        })
    };
    assert_eq!(lines, jobs.iter().map(expected).collect::<Vec<_>>());
    let figures = process.jobs.figures();
    assert_eq!((figures.queued, figures.running, figures.waiting), (0, 0, 0));
    let ended: Vec<_> = figures.ended.into_iter().filter(|(_, count)| *count > 0).collect();
    assert_eq!(ended, [("succeeded", 1), ("failed", 1)]);
}

#[tokio::test]
async fn jobs_are_counted_by_what_they_wait_for() {
    let scene = Scene::new();
    let process = scene.process();
    process.jobs.govern(Config { running: 1, ..Config::default() });
    let job = process.submit(&local(), "work", "waits").await.unwrap();
    process.until(&job, State::Running).await;
    process.submit(&local(), "work", "says").await.unwrap();
    let figures = process.jobs.figures();
    assert_eq!((figures.queued, figures.running, figures.waiting), (1, 1, 0));
}

#[tokio::test]
async fn a_program_that_is_not_there_holds_up_nothing() {
    let scene = Scene::new();
    let process = scene.process();
    let command = vec!["no-such-program-anywhere".to_owned()];
    let notify = Some(gate::jobs::Notify { command, ..Default::default() });
    process.jobs.govern(Config { notify, ..Config::default() });
    let job = process.submit(&local(), "work", "says").await.unwrap();
    assert_eq!(process.over(&job).await.0.state, State::Succeeded);
}

/// The states that a program was told of by now.
fn states(told: &Path) -> Vec<String> {
    let lines = std::fs::read_to_string(told).unwrap_or_default();
    let state = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["state"].to_string();
    lines.lines().map(state).collect()
}

#[tokio::test]
async fn what_a_process_ends_by_ending_is_told_before_it_is_gone() {
    let scene = Scene::new();
    let told = scene.folder.path().join("told");
    let process = scene.process();
    process.jobs.govern(telling(&told, ""));
    let job = process.submit(&local(), "work", "waits").await.unwrap();
    process.until(&job, State::Running).await;
    process.jobs.end().await;
    assert_eq!(states(&told), ["\"interrupted\""]);
}

#[tokio::test]
async fn a_command_tells_of_what_it_ends_itself_and_waits_no_longer_than_it_says() {
    let scene = Scene::new();
    let told = scene.folder.path().join("told");
    let process = scene.idle();
    let cancel = async |config: Config| {
        process.jobs.govern(config);
        let job = process.submit(&local(), "work", "says").await.unwrap();
        process.cancel(&local(), job.id.as_str()).await.unwrap();
    };
    cancel(telling(&told, "")).await;
    process.jobs.tell_rest(SOON).await;
    assert_eq!(states(&told), ["\"cancelled\""]);
    process.jobs.tell_rest(SOON).await;
    cancel(telling(&told, "sleep 60;")).await;
    let since = std::time::Instant::now();
    process.jobs.tell_rest(Duration::from_millis(20)).await;
    assert!(since.elapsed() < SOON);
    assert_eq!(states(&told).len(), 1);
}

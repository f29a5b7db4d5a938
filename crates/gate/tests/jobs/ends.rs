//! How jobs end, and what is left of them.

use super::scene::*;

#[tokio::test]
async fn a_job_is_kept_runs_and_gives_its_result_to_its_caller_alone() {
    let scene = Scene::new();
    let process = scene.process();
    let (caller, other) = (holder("key:a", "k1"), holder("key:a", "k2"));
    let job = process.submit(&caller, "work", "says").await.unwrap();
    assert_eq!((job.state, job.tool.as_str(), job.workspace.as_str()), (State::Queued, "work", "/w"));
    let (over, said) = process.over(&job).await;
    assert_eq!((over.state, over.attempt, said.as_str()), (State::Succeeded, 1, "says 1"));
    assert_eq!(process.events(&job).await, ["started 1", "finished succeeded"]);
    let id = job.id.as_str();
    assert!(process.jobs.result(&caller, id).await.unwrap().is_some());
    // A later key of the same name is another caller, and another's job is as unknown as none.
    let unknown = process.jobs.get(&caller, &"0".repeat(32)).await.unwrap_err();
    assert_eq!(process.jobs.get(&other, id).await.unwrap_err(), unknown);
    assert_eq!(process.cancel(&other, id).await.unwrap_err(), unknown);
    assert_eq!(process.jobs.result(&other, id).await.unwrap_err(), unknown);
    let events = process.jobs.events(&other, id, 0, Duration::ZERO).await;
    assert_eq!(events.unwrap_err(), unknown);
    assert!(process.jobs.list(&other, &Filter::default()).await.unwrap().jobs.is_empty());
    assert_eq!(process.jobs.list(&caller, &Filter::default()).await.unwrap().jobs, [over]);
}

#[tokio::test]
async fn the_audit_log_tells_that_a_job_was_taken_and_what_ran_for_it() {
    let scene = Scene::new();
    let process = scene.process();
    let job = process.submit(&local(), "work", "says").await.unwrap();
    process.over(&job).await;
    // Whose it is not hears of none, and has tried all the same.
    process.cancel(&holder("key:b", "k"), job.id.as_str()).await.unwrap_err();
    let told = |record: &serde_json::Value| {
        (record["job"] == job.id.as_str()).then(|| record["outcome"].as_str().unwrap().to_owned())
    };
    let outcomes: Vec<_> = scene.records(&process).iter().filter_map(told).collect();
    assert_eq!(outcomes, ["accepted", "result", "refused"]);
}

#[tokio::test]
async fn what_is_refused_is_no_job() {
    let scene = Scene::new();
    let process = scene.process();
    let code = |taken: Result<Job, Failure>| taken.map_err(|failure| failure.code().to_owned()).unwrap_err();
    assert_eq!(code(process.submit(&local(), "nothing", "says").await), "unknown_tool");
    process.jobs.govern(Config { per_caller: 1, ..Config::default() });
    let job = process.submit(&local(), "work", "waits").await.unwrap();
    assert_eq!(code(process.submit(&local(), "work", "says").await), "too_many_jobs");
    process.cancel(&local(), job.id.as_str()).await.unwrap();
    process.submit(&local(), "work", "says").await.unwrap();
}

#[tokio::test]
async fn a_job_is_counted_once() {
    let scene = Scene::new();
    let process = scene.process();
    // As many as may come at once; were each counted twice, half of them would be refused when they start.
    let mut jobs = Vec::new();
    for _ in 0..10 {
        jobs.push(process.submit(&local(), "look", "says").await.unwrap());
    }
    for job in &jobs {
        assert_eq!(process.over(job).await.0.state, State::Succeeded);
    }
}

#[tokio::test]
async fn only_what_may_be_done_twice_is_tried_again() {
    let scene = Scene::new();
    let process = scene.process();
    let wants = Wants { retries: 1, ..Wants::default() };
    let job = process.submit_with(&local(), "look", "fails once", wants).await.unwrap();
    let (over, said) = process.over(&job).await;
    assert_eq!((over.state, over.attempt, said.as_str()), (State::Succeeded, 2, "fails once 2"));
    assert_eq!(process.events(&job).await, ["started 1", "queued", "started 2", "finished succeeded"]);
    let refused = process.submit_with(&local(), "work", "fails", wants).await.unwrap_err();
    assert_eq!(refused.code(), "no_retries");
    assert!(
        refused.to_string().contains("`work`") && refused.to_string().contains("idempotent"),
        "{refused}"
    );
    let job = process.submit(&local(), "work", "fails").await.unwrap();
    let (over, said) = process.over(&job).await;
    assert_eq!((over.state, over.attempt, over.retries), (State::Failed, 1, 0));
    assert_eq!(said, "broken");
}

#[tokio::test]
async fn what_a_job_asked_meanwhile_counts_as_no_failure() {
    let scene = Scene::new();
    let process = scene.process();
    let wants = Wants { retries: 1, ..Wants::default() };
    let job = process.submit_with(&local(), "look", "asks and fails once", wants).await.unwrap();
    // It begins anew, and asks again: what it was answered counts once.
    for _ in 0..2 {
        let asks = process.until(&job, State::InputRequired).await;
        let answer = Bytes::from_static(br#"{"k":{"roots":[]}}"#);
        process.jobs.answer(&local(), job.id.as_str(), asks.last_event, &answer).await.unwrap();
    }
    let (over, said) = process.over(&job).await;
    assert_eq!((over.state, over.failures, said.as_str()), (State::Succeeded, 1, "at last"));
}

#[tokio::test]
async fn what_comes_too_often_is_not_taken() {
    let scene = Scene::new();
    let process = scene.process();
    let mut refused = Vec::new();
    // Ten may come at once, and one more each second.
    for _ in 0..40 {
        if let Err(failure) = process.submit(&local(), "look", "says").await {
            refused.push(failure.code().to_owned());
        }
    }
    assert!(refused.len() > 10, "{refused:?}");
    assert!(refused.iter().all(|code| code == "rate_limited"), "{refused:?}");
}

#[tokio::test]
async fn a_result_that_is_too_large_to_keep_fails_the_job_and_says_so() {
    let scene = Scene::new();
    let process = scene.process();
    let job = process.submit(&local(), "work", "says much").await.unwrap();
    let (over, code) = process.over(&job).await;
    assert_eq!((over.state, code.as_str()), (State::Failed, "result_too_large"));
}

#[tokio::test]
async fn nobody_has_a_job_kept_for_longer_than_all_are() {
    let scene = Scene::new();
    let process = scene.process();
    let keep = Duration::from_secs(60);
    process.jobs.govern(Config { keep, ..Config::default() });
    for (asked, expected) in [(None, keep), (Some(keep / 2), keep / 2), (Some(keep * 2), keep)] {
        let wants = Wants { ttl: asked, ..Wants::default() };
        let job = process.submit_with(&local(), "look", "says", wants).await.unwrap();
        assert_eq!(u128::from(job.ttl_ms), expected.as_millis(), "{asked:?}");
    }
}

#[tokio::test]
async fn progress_and_output_become_events_that_can_be_waited_for() {
    let scene = Scene::new();
    let process = scene.process();
    let job = process.submit(&local(), "work", "waits").await.unwrap();
    let (mut after, mut seen) = (0, 0);
    while seen < 3 {
        let page = process.jobs.events(&local(), job.id.as_str(), after, SOON).await.unwrap();
        assert!(!page.is_last && !page.events.is_empty());
        (after, seen) = (page.last, seen + page.events.len());
    }
    let told = process.until(&job, State::Running).await;
    assert_eq!(told.progress.unwrap().total, Some(2.0));
    let (caller, id) = (local(), job.id.as_str());
    let waiting = process.jobs.events(&caller, id, after, SOON);
    let (page, cancelled) = tokio::join!(waiting, process.cancel(&caller, id));
    assert_eq!(cancelled.unwrap().state, State::Cancelled);
    assert!(page.unwrap().is_last);
    let events = process.events(&job).await;
    assert_eq!(events, ["started 1", "output a line", "progress 1", "finished cancelled"]);
}

//! What is done with jobs from outside.

use super::scene::*;

/// A process that begins nothing: one job holds the only place.
async fn full(scene: &Scene) -> (Process, Job) {
    let process = scene.process();
    process.jobs.govern(Config { running: 1, ..Config::default() });
    let first = process.submit(&local(), "work", "waits").await.unwrap();
    process.until(&first, State::Running).await;
    (process, first)
}

#[tokio::test]
async fn a_job_is_cancelled_once_and_stays_so() {
    let scene = Scene::new();
    let (process, first) = full(&scene).await;
    let waits = process.submit(&local(), "work", "says").await.unwrap();
    for job in [&waits, &first] {
        for _ in 0..2 {
            let cancelled = process.cancel(&local(), job.id.as_str()).await.unwrap();
            assert_eq!(cancelled.state, State::Cancelled);
        }
        assert_eq!(process.over(job).await.1, "cancelled");
    }
    assert_eq!(process.events(&waits).await, ["finished cancelled"]);
    let done = process.submit(&local(), "work", "says").await.unwrap();
    assert_eq!(process.over(&done).await.0.state, State::Succeeded);
    let after = process.cancel(&local(), done.id.as_str()).await.unwrap();
    assert_eq!(after.state, State::Succeeded, "what is over stays as it is");
}

#[tokio::test]
async fn each_cancel_leaves_a_record_that_says_whether_it_took() {
    let scene = Scene::new();
    let (process, first) = full(&scene).await;
    let waits = process.submit(&local(), "work", "says").await.unwrap();
    let (id, stranger) = (waits.id.as_str(), holder("key:b", "k"));
    process.cancel(&local(), id).await.unwrap();
    // A command, of a job that this process runs.
    let command = scene.idle();
    command.cancel(Whose::Anyone, first.id.as_str()).await.unwrap();
    process.cancel(&local(), id).await.unwrap();
    process.cancel(&stranger, id).await.unwrap_err();
    scene.records(&command);
    let records = scene.records(&process);
    let cancels = records.iter().filter(|record| record["tool"] == "tasks_cancel");
    let told: Vec<_> = cancels
        .map(|record| ["job", "caller", "via", "outcome", "code"].map(|key| record[key].as_str()))
        .collect();
    let [local, stdio] = [Some("local"), Some("stdio")];
    // Two processes write, each when it comes to it: their records may change places.
    for wanted in [
        [Some(id), local, stdio, Some("result"), None],
        [Some(first.id.as_str()), local, stdio, Some("result"), None],
        [Some(id), local, stdio, Some("tool_error"), Some("job_state")],
        // Of one that is not theirs: they have tried, and were told that there is none.
        [Some(id), local, stdio, Some("refused"), Some("unknown_job")],
    ] {
        assert!(told.contains(&wanted), "{wanted:?} in {told:?}");
    }
    assert_eq!(told.len(), 4, "one for each");
}

#[tokio::test]
async fn whoever_cancels_what_cannot_be_cancelled_is_turned_away_in_the_end() {
    let scene = Scene::new();
    let process = scene.process();
    let done = process.submit(&local(), "work", "says").await.unwrap();
    process.over(&done).await;
    let unknown = "0".repeat(32);
    for (caller, id) in [(holder("key:b", "k"), unknown.as_str()), (local(), done.id.as_str())] {
        let mut code = None;
        // A hundred fill the bucket, and ten more fit in each second that this takes.
        for _ in 0..5_000 {
            let cancelled = process.gate.cancel_job(&caller, (&caller).into(), id).await;
            code = cancelled.err().map(|refusal| refusal.code());
            if code == Some("rate_limited") {
                break;
            }
        }
        assert_eq!(code, Some("rate_limited"), "{id}");
    }
}

#[tokio::test]
async fn a_job_that_waits_is_paused_and_resumed_and_one_that_runs_is_not() {
    let scene = Scene::new();
    let (process, first) = full(&scene).await;
    let job = process.submit(&local(), "work", "says").await.unwrap();
    let id = job.id.as_str();
    assert_eq!(process.jobs.resume(&local(), id).await.unwrap_err().code(), "job_state");
    for _ in 0..2 {
        assert_eq!(process.jobs.pause(&local(), id).await.unwrap().state, State::Paused);
    }
    assert_eq!(process.jobs.pause(&local(), first.id.as_str()).await.unwrap_err().code(), "job_state");
    process.cancel(&local(), first.id.as_str()).await.unwrap();
    let next = process.submit(&local(), "work", "says").await.unwrap();
    assert_eq!(process.over(&next).await.0.state, State::Succeeded);
    assert_eq!(process.jobs.get(&local(), id).await.unwrap().state, State::Paused);
    assert_eq!(process.jobs.resume(&local(), id).await.unwrap().state, State::Queued);
    assert_eq!(process.over(&job).await.0.state, State::Succeeded);
}

#[tokio::test]
async fn a_job_runs_again_as_a_new_one_and_is_forgotten_when_it_is_over() {
    let scene = Scene::new();
    let (process, first) = full(&scene).await;
    let id = first.id.as_str();
    let again = process.jobs.again(&process.gate, &local(), id).await;
    assert_eq!(again.unwrap_err().code(), "job_state");
    assert_eq!(process.jobs.purge(&local(), id).await.unwrap_err().code(), "job_state");
    process.cancel(&local(), id).await.unwrap();
    let again = process.jobs.again(&process.gate, &local(), id).await.unwrap();
    assert_ne!(again.id, first.id);
    process.until(&again, State::Running).await;
    process.jobs.purge(&local(), id).await.unwrap();
    assert_eq!(process.jobs.get(&local(), id).await.unwrap_err().code(), "unknown_job");
}

#[tokio::test]
async fn another_process_has_a_job_cancelled_or_paused() {
    let scene = Scene::new();
    let (process, first) = full(&scene).await;
    let waits = process.submit(&local(), "work", "says").await.unwrap();
    let command = scene.idle();
    let paused = process.submit(&local(), "work", "says").await.unwrap();
    let paused = command.jobs.pause(Whose::Anyone, paused.id.as_str()).await.unwrap();
    assert_eq!(paused.state, State::Paused);
    for job in [&waits, &first] {
        let cancelled = command.cancel(Whose::Anyone, job.id.as_str()).await.unwrap();
        assert_eq!(cancelled.state, State::Cancelled);
    }
    assert_eq!(process.jobs.under_way(), 0);
}

#[tokio::test]
async fn lists_have_pages_and_conditions() {
    let scene = Scene::new();
    let process = scene.process();
    for nth in 0..3 {
        let tool = if nth == 1 { "look" } else { "work" };
        let job = process.submit(&local(), tool, "says").await.unwrap();
        process.over(&job).await;
    }
    let filter = Filter { limit: 2, ..Filter::default() };
    let first = process.jobs.list(&local(), &filter).await.unwrap();
    let next = Filter { cursor: first.cursor.clone(), ..filter };
    let second = process.jobs.list(&local(), &next).await.unwrap();
    assert_eq!((first.jobs.len(), second.jobs.len(), second.cursor), (2, 1, None));
    let of_tool = Filter { tool: Some("look".to_owned()), ..Filter::default() };
    assert_eq!(process.jobs.list(&local(), &of_tool).await.unwrap().jobs.len(), 1);
    let running = Filter { states: vec![State::Running], ..Filter::default() };
    assert!(process.jobs.list(&local(), &running).await.unwrap().jobs.is_empty());
    let wrong = Filter { cursor: Some("x".to_owned()), ..Filter::default() };
    assert_eq!(process.jobs.list(&local(), &wrong).await.unwrap_err().code(), "bad_cursor");
}

#[tokio::test]
async fn a_job_that_runs_is_its_callers_alone() {
    let scene = Scene::new();
    let (process, first) = full(&scene).await;
    let (stranger, id) = (holder("key:b", "k"), first.id.as_str());
    let jobs = &process.jobs;
    for refused in [
        jobs.get(&stranger, id).await.map(drop),
        process.cancel(&stranger, id).await.map(drop),
        jobs.events(&stranger, id, 0, Duration::ZERO).await.map(drop),
        jobs.result(&stranger, id).await.map(drop),
    ] {
        assert_eq!(refused.unwrap_err().code(), "unknown_job");
    }
    assert_eq!(jobs.get(&local(), id).await.unwrap().state, State::Running);
}

#[tokio::test]
async fn who_has_fewer_scopes_than_a_task_types_nothing_to_it() {
    for (started_with, held, expected) in [
        ("network run_tests", "run_tests", "task_has_more_scopes"),
        ("network run_tests", "read_workspace write_workspace", "task_has_more_scopes"),
        ("*", "network read_workspace run_tests write_workspace", "task_has_more_scopes"),
        // Its stdin has ended.
        ("network run_tests", "network run_tests", "stdin_closed"),
        ("network run_tests", "network read_workspace run_tests", "stdin_closed"),
        ("network run_tests", "*", "stdin_closed"),
        ("*", "*", "stdin_closed"),
    ] {
        let scene = Scene::new();
        let process = scene.process();
        let call = async |scopes: &str, does: &str| {
            let caller = holder("key:b", "k").with_scopes(scopes.parse().unwrap());
            let arguments = serde_json::json!({ "does": does }).to_string();
            process.gate.call(&caller, Call::tool(BACKGROUND, Some(arguments.into()))).await
        };
        call(started_with, "starts").await.unwrap();
        let typed = call(held, "types").await;
        assert_eq!(typed.unwrap_err().code(), expected, "{started_with}: {held}");
    }
}

#[tokio::test]
async fn whoever_goes_away_while_a_call_becomes_a_job_leaves_none_that_nobody_runs() {
    for (tool, does) in [("work", "waits"), (BACKGROUND, "starts")] {
        let scene = Scene::new();
        let process = scene.process();
        let slow = scene.is_slow.clone().lock_owned().await;
        let (jobs, gate) = (process.jobs.clone(), process.gate.clone());
        let going = tokio::spawn(async move {
            let arguments = serde_json::json!({ "does": does }).to_string();
            let (caller, call) = (local(), Call::tool(tool, Some(arguments.into())));
            match tool {
                BACKGROUND => drop(gate.call(&caller, call).await),
                _ => drop(jobs.call(&gate, &caller, call, Duration::from_millis(1), Wants::default()).await),
            }
        });
        let kept = async {
            loop {
                let page = process.jobs.list(&local(), &Filter::default()).await.unwrap();
                match page.jobs.into_iter().next() {
                    Some(job) => return job,
                    None => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        };
        let job = tokio::time::timeout(SOON, kept).await.expect("it is kept");
        assert_eq!(job.state, State::Running, "{tool}");
        going.abort();
        assert!(going.await.unwrap_err().is_cancelled());
        drop(slow);
        assert_eq!(process.over(&job).await.0.state, State::Cancelled, "{tool}");
    }
}

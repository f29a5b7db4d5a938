//! A database that cannot be used while a job runs: what needs it fails by name, the rest goes on, and so does the job.
#![expect(clippy::disallowed_methods, reason = "these tests remove and damage files")]

use super::scene::*;

#[tokio::test]
async fn a_database_that_fails_in_mid_job_takes_neither_the_job_nor_other_calls_along() {
    let scene = Scene::new();
    let process = scene.process();
    let job = process.submit(&local(), "work", "holds").await.unwrap();
    process.until(&job, State::Running).await;
    scene.is_broken.store(true, Ordering::SeqCst);
    for refused in [
        process.submit(&local(), "look", "says").await.map(drop).map_err(|failure| failure.to_string()),
        process.jobs.list(&local(), &Filter::default()).await.map(drop).map_err(|error| error.to_string()),
        process.jobs.result(&local(), &"0".repeat(32)).await.map(drop).map_err(|error| error.to_string()),
    ] {
        let why = refused.unwrap_err();
        assert!(why.contains("the disk is full"), "{why}");
    }
    let call = Call::tool("look", Some(Bytes::from_static(br#"{"does":"says"}"#)));
    process.gate.call(&local(), call).await.expect("what is no job is none of it");
    // It ends, which cannot be written.
    let before = scene.failures.load(Ordering::SeqCst);
    scene.let_go.notify_one();
    let tried = async {
        while scene.failures.load(Ordering::SeqCst) == before {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(SOON, tried).await.expect("it is tried");
    scene.is_broken.store(false, Ordering::SeqCst);
    let (over, said) = process.over(&job).await;
    assert_eq!((over.state, over.attempt, said.as_str()), (State::Succeeded, 1, "let go"));
    process.submit(&local(), "look", "says").await.expect("all is well again");
}

#[tokio::test]
async fn a_job_whose_turn_comes_while_the_database_fails_begins_once_it_works() {
    let scene = Scene::new();
    let process = scene.process();
    let (kept, caller) = (scene.is_slow.lock().await, local());
    let (submitted, ()) = tokio::join!(process.submit(&caller, "work", "says"), async {
        let command = scene.idle();
        while command.jobs.list(Whose::Anyone, &Filter::default()).await.unwrap().jobs.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // It is kept, and has not had its turn.
        scene.is_broken.store(true, Ordering::SeqCst);
        drop(kept);
    });
    let job = submitted.unwrap();
    let tried = async {
        while scene.failures.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(SOON, tried).await.expect("it is tried");
    scene.is_broken.store(false, Ordering::SeqCst);
    let (over, said) = process.over(&job).await;
    assert_eq!((over.state, said.as_str()), (State::Succeeded, "says 1"));
}

#[tokio::test]
async fn a_result_that_the_database_does_not_take_is_the_end_of_its_job() {
    let scene = Scene::new();
    let process = scene.process();
    let job = process.submit(&local(), "work", "holds").await.unwrap();
    process.until(&job, State::Running).await;
    let too_large = StoreError::TooLarge { what: "a result", bytes: 2, max: 1 };
    *scene.fails_next.lock().unwrap() = Some(("change", too_large));
    scene.let_go.notify_one();
    let (over, code) = process.over(&job).await;
    assert_eq!((over.state, code.as_str()), (State::Failed, "result_too_large"));
    assert_eq!(over.message.as_deref(), Some("a result of 2 bytes is too large to keep; the limit is 1"));
    assert_eq!(process.jobs.under_way(), 0);
}

#[tokio::test]
async fn a_call_that_cannot_become_a_job_is_waited_for_after_all() {
    let scene = Scene::new();
    let process = scene.process();
    scene.is_broken.store(true, Ordering::SeqCst);
    let call = Call::tool("work", Some(Bytes::from_static(br#"{"does":"holds"}"#)));
    let caller = local();
    let called = process.jobs.call(&process.gate, &caller, call, Duration::ZERO, Wants::default());
    let let_go = async {
        while scene.failures.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        scene.let_go.notify_one();
    };
    let both = async { tokio::join!(called, let_go).0 };
    let answered = tokio::time::timeout(SOON, both).await.expect("it ends");
    assert!(matches!(&answered, Answered::Done(Ok(_))), "{answered:?}");
    assert!(format!("{answered:?}").contains("let go"), "{answered:?}");
    assert_eq!((scene.ran(), process.jobs.under_way()), (1, 0));
}

#[tokio::test]
async fn a_job_whose_end_only_another_version_could_write_is_held_no_more() {
    let scene = Scene::new();
    let process = scene.process();
    let job = process.submit(&local(), "work", "holds").await.unwrap();
    process.until(&job, State::Running).await;
    *scene.fails_next.lock().unwrap() = Some(("change", StoreError::OtherVersion { found: 2, known: 1 }));
    scene.let_go.notify_one();
    let let_go = async {
        while process.jobs.under_way() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(SOON, let_go).await.expect("it is tried once");
    assert_eq!(process.jobs.get(&local(), job.id.as_str()).await.unwrap().state, State::Running);
}

#[tokio::test]
async fn what_cannot_be_read_for_a_moment_as_it_is_taken_over_runs_all_the_same() {
    let scene = Scene::new();
    let command = scene.idle();
    let mut left = Vec::new();
    for _ in 0..3 {
        left.push(command.submit(&local(), "look", "says").await.unwrap());
    }
    *scene.fails_next.lock().unwrap() = Some(("body", StoreError::Busy));
    let process = scene.process();
    let failed = async {
        while scene.failures.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(SOON, failed).await.expect("they are taken over");
    process.jobs.look().await;
    for job in &left {
        assert_eq!(process.over(job).await.0.state, State::Succeeded);
    }
}

/// Submits until it is taken; what is refused before that is refused in these words.
async fn taken_after(process: &Process, why: &str) -> Job {
    for _ in 0..5 {
        match process.submit(&local(), "look", "says").await {
            Ok(job) => return job,
            Err(failure) => assert!(failure.to_string().contains(why), "{failure}"),
        }
    }
    panic!("it never works again")
}

fn files(scene: &Scene) -> Vec<std::path::PathBuf> {
    let state = scene.folder.path().join("state");
    let all = std::fs::read_dir(state).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("toolcrib.db")).collect()
}

fn remove_database(scene: &Scene) {
    files(scene).iter().for_each(|file| std::fs::remove_file(file).unwrap());
}

#[tokio::test]
async fn a_database_that_is_removed_in_mid_job_is_begun_anew_and_holds_no_place() {
    let scene = Scene::new();
    let process = scene.process();
    process.jobs.govern(Config { running: 1, ..Config::default() });
    let job = process.submit(&local(), "work", "holds").await.unwrap();
    process.until(&job, State::Running).await;
    remove_database(&scene);
    let next = taken_after(&process, "toolcrib.db was removed or replaced while it was in use").await;
    let call = Call::tool("look", Some(Bytes::from_static(br#"{"does":"says"}"#)));
    process.gate.call(&local(), call).await.expect("what is no job is none of it");
    // It ends, and nothing of it is kept any more; whoever waits for it is told.
    let waits = process.jobs.wait(Whose::Anyone, job.id.as_str(), SOON);
    let (waited, ()) = tokio::join!(waits, async { scene.let_go.notify_one() });
    assert_eq!(waited.unwrap_err().code(), "unknown_job");
    let (over, said) = process.over(&next).await;
    assert_eq!(over.state, State::Succeeded);
    // With a key that is in the new database: another process reads it, and the next one of this will.
    assert_eq!(scene.idle().over(&next).await.1, said);
    assert_eq!(process.jobs.under_way(), 0);
}

#[tokio::test]
async fn what_another_process_has_kept_since_is_run_by_the_one_that_lost_its_database() {
    let scene = Scene::new();
    let process = scene.process();
    let before = process.submit(&local(), "look", "says").await.unwrap();
    process.over(&before).await;
    remove_database(&scene);
    let command = scene.idle();
    let job = command.submit(&local(), "look", "says").await.unwrap();
    // It is told that what it had open is gone, of the jobs and then of the key, before it takes anything.
    for _ in 0..3 {
        process.jobs.look().await;
    }
    let (over, said) = command.over(&job).await;
    assert_eq!((over.state, said.as_str()), (State::Succeeded, "says 2"));
}

#[tokio::test]
async fn a_database_that_is_replaced_by_garbage_in_mid_job_is_named_until_it_is_mended() {
    let scene = Scene::new();
    let process = scene.process();
    let job = process.submit(&local(), "work", "holds").await.unwrap();
    process.until(&job, State::Running).await;
    let garbage = scene.folder.path().join("garbage");
    std::fs::write(&garbage, "garbage ".repeat(2_000)).unwrap();
    remove_database(&scene);
    std::fs::rename(&garbage, scene.folder.path().join("state/toolcrib.db")).unwrap();
    let mut told = Vec::new();
    for _ in 0..3 {
        told.push(process.submit(&local(), "look", "says").await.unwrap_err().to_string());
    }
    assert!(told[0].contains("removed or replaced") && told[2].contains("is damaged"), "{told:?}");
    let call = Call::tool("look", Some(Bytes::from_static(br#"{"does":"says"}"#)));
    process.gate.call(&local(), call).await.expect("what is no job is none of it");
    remove_database(&scene);
    let next = taken_after(&process, "toolcrib.db").await;
    assert_eq!(process.over(&next).await.0.state, State::Succeeded);
    scene.let_go.notify_one();
    let waited = process.jobs.wait(Whose::Anyone, job.id.as_str(), SOON).await;
    assert_eq!(waited.unwrap_err().code(), "unknown_job");
}

//! A database that cannot be used while a job runs: what needs it fails by name, the rest goes on, and so does the job.

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

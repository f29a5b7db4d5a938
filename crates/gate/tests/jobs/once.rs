//! Calls that bear a request id, where they are jobs or may become some: none runs twice.

use super::scene::*;

fn bearing(does: &str) -> Call<'static> {
    let arguments = serde_json::json!({ "does": does }).to_string();
    Call { request_id: Some("r1".into()), ..Call::tool("work", Some(arguments.into())) }
}

async fn patiently(process: &Process, does: &str, patience: Duration) -> Answered {
    process.jobs.call(&process.gate, &local(), bearing(does), patience, Wants::default()).await
}

/// The text that it gave, or the code of its refusal.
fn said(answered: &Answered) -> String {
    match answered {
        Answered::Done(Ok(Outcome { payload: Payload::Ours { blocks, .. }, .. })) => match &blocks[..] {
            [Block::Text(text)] => text.clone(),
            other => format!("{other:?}"),
        },
        Answered::Done(Err(Failure::Refused(refusal))) => refusal.code().to_owned(),
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn a_call_that_might_have_become_a_job_runs_once() {
    let scene = Scene::new();
    let process = scene.process();
    for _ in 0..2 {
        assert_eq!(said(&patiently(&process, "says", SOON).await), "says 1");
    }
    assert_eq!(said(&patiently(&process, "other", SOON).await), "request_conflict");
    assert_eq!(scene.ran(), 1);
}

#[tokio::test]
async fn a_call_that_became_a_job_runs_once() {
    let scene = Scene::new();
    let process = scene.process();
    let Answered::Job(job) = patiently(&process, "holds", Duration::ZERO).await else {
        panic!("it holds");
    };
    // Without patience: that nobody waits for it must not decide.
    let until = async {
        while scene.ran() == 0 {
            tokio::task::yield_now().await
        }
    };
    tokio::time::timeout(SOON, until).await.unwrap();
    assert_eq!(said(&patiently(&process, "holds", SOON).await), "in_progress");
    scene.let_go.notify_one();
    assert_eq!(process.over(&job).await.1, "let go");
    assert_eq!(said(&patiently(&process, "holds", SOON).await), "let go");
    assert_eq!(scene.ran(), 1);
}

#[tokio::test]
async fn what_is_a_job_from_the_beginning_is_taken_once() {
    let scene = Scene::new();
    let process = scene.process();
    let submit = async |does, wants| process.gate.submit(&local(), bearing(does), wants).await;
    let job = submit("says", Wants::default()).await.unwrap();
    process.over(&job).await;
    let again = submit("says", Wants::default()).await.unwrap();
    assert_eq!((again.id, again.state), (job.id.clone(), State::Succeeded));
    let urgent = Wants { priority: 1, ..Wants::default() };
    for (does, wants) in [("other", Wants::default()), ("says", urgent)] {
        assert_eq!(submit(does, wants).await.unwrap_err().code(), "request_conflict");
    }
    process.jobs.purge(&local(), job.id.as_str()).await.unwrap();
    assert_eq!(submit("says", Wants::default()).await.unwrap_err().code(), "unknown_job");
    assert_eq!(scene.ran(), 1);
}

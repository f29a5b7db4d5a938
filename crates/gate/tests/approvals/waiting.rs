//! Calls that wait for their answer.

use crate::scene::*;

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_its_answer() {
    let scene = Scene::waiting(20);
    let (process, other) = (scene.process(), scene.process());
    let caller = local();
    let one = |answer: Option<Answer>, from: &'static str| {
        let (process, other, caller) = (&process, &other, &caller);
        async move {
            let arguments = format!("{{\"from\":\"{from}\"}}");
            let started = tokio::time::Instant::now();
            let answering = async {
                tokio::time::sleep(Duration::from_secs(3)).await;
                let waiting = other.gate.approvals().approvals(&terminal()).unwrap();
                let mine = waiting.iter().find(|it| it.arguments == arguments).unwrap();
                let by = if from == "here" { process } else { other };
                answer.iter().for_each(|answer| {
                    by.answer(&mine.id, answer, &terminal());
                });
            };
            let (ended, ()) = tokio::join!(process.call(caller, &arguments), answering);
            (ended, started.elapsed().as_secs())
        }
    };
    assert_eq!(one(Some(once()), "here").await, ("ran".to_owned(), 3));
    assert_eq!(one(Some(once()), "elsewhere").await, ("ran".to_owned(), 3));
    assert_eq!(one(Some(deny("no")), "another").await, ("approval_denied".to_owned(), 3));
    assert_eq!(one(None, "nowhere").await, ("approval_required".to_owned(), 20));
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_with_its_question_and_with_its_caller() {
    let mut scene = Scene::waiting(20);
    scene.config.lasts = Duration::from_secs(10);
    let process = scene.process();
    let ticking = async {
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            pass(Duration::from_secs(1));
        }
    };
    let caller = local();
    let (ended, ()) = tokio::join!(process.call(&caller, "{}"), ticking);
    assert_eq!(ended, "approval_expired");

    let cancel = Cancel::new();
    let call = Call { cancel: cancel.clone(), ..Call::tool("burn", None) };
    let cancelling = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    };
    let (ended, ()) = tokio::join!(process.gate.call(&caller, call), cancelling);
    assert!(ended.unwrap_err().is_cancelled());
    assert_eq!(scene.ran(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_question_ends_with_the_last_call_that_waits_for_it() {
    let scene = Scene::waiting(20);
    let (process, caller) = (scene.process(), local());
    let waiting = || {
        let all = process.gate.approvals().approvals(&terminal()).unwrap();
        all.iter().filter(|it| it.status(process.gate.approvals().now_ms()) == Status::Pending).count()
    };
    let (first, second) = (Cancel::new(), Cancel::new());
    let call = |cancel: &Cancel| Call { cancel: cancel.clone(), ..Call::tool("burn", None) };
    let cancelling = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(waiting(), 1);
        first.cancel();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(waiting(), 1, "another call waits for it");
        second.cancel();
    };
    let calls = (process.gate.call(&caller, call(&first)), process.gate.call(&caller, call(&second)));
    let (one, other, ()) = tokio::join!(calls.0, calls.1, cancelling);
    assert!(one.unwrap_err().is_cancelled() && other.unwrap_err().is_cancelled());
    assert_eq!(waiting(), 0);
    assert_eq!(scene.ran(), 0);
}

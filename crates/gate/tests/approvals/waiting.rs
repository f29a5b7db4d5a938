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
        all.iter().filter(|it| it.status(process.gate.approvals().now_ms()) == State::Pending).count()
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

/// A clock that goes on with that of the runtime.
async fn let_pass(process: &Process, id: &str, seconds: u64) -> Vec<State> {
    let mut seen = Vec::new();
    for _ in 0..seconds {
        tokio::time::sleep(Duration::from_secs(1)).await;
        pass(Duration::from_secs(1));
        seen.push(process.approval(id).status(now_ms()));
    }
    seen.dedup();
    seen
}

fn the_open_one(process: &Process) -> Option<String> {
    let all = process.gate.approvals().approvals(&terminal()).unwrap();
    all.iter().find(|one| one.status(now_ms()) == State::Pending).map(|one| one.id.to_string())
}

async fn asked(process: &Process) -> String {
    loop {
        match the_open_one(process) {
            Some(id) => return id,
            None => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

/// As after a `kill -9`: nobody says that nobody waits any more.
#[tokio::test(start_paused = true)]
async fn a_question_ends_soon_after_whoever_waits_for_it_is_gone() {
    let scene = Scene::waiting(600);
    let process = scene.process();
    let caller = local();
    let mut waiting = Box::pin(process.call(&caller, "{}"));
    let id = tokio::select! {
        biased;
        done = &mut waiting => panic!("{done}"),
        id = asked(&process) => id,
    };
    let seen = tokio::select! {
        biased;
        done = &mut waiting => panic!("{done}"),
        seen = let_pass(&process, &id, 60) => seen,
    };
    assert_eq!(seen, [State::Pending], "as long as it waits");
    drop(waiting);
    let seen = let_pass(&process, &id, 16).await;
    assert_eq!(seen, [State::Pending, State::Expired]);
    assert_eq!(process.answer(&id, &once(), &terminal()), "approval_expired");
    let mut again = Box::pin(process.call(&caller, "{}"));
    let next = tokio::select! {
        biased;
        done = &mut again => panic!("{done}"),
        next = asked(&process) => next,
    };
    assert_ne!(next, id, "the same call asks anew");
    assert_eq!(process.answer(&next, &once(), &terminal()), "approved");
    assert_eq!(again.await, "ran");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_has_the_id_finds_its_question_open() {
    for (wait, takes_forms) in [(0, false), (5, false), (600, true)] {
        let scene = Scene::waiting(wait);
        let process = scene.process();
        let caller = local();
        let client = if takes_forms {
            Client { capabilities: FORMS.into(), ..Client::default() }
        } else {
            Client::default()
        };
        let told = process.make(&caller, "{}", client, None).await;
        assert_eq!(told.is_ok(), takes_forms, "it waits, or is asked");
        let id = the_open_one(&process).expect("it is open");
        assert_eq!(let_pass(&process, &id, 60).await, [State::Pending], "{wait}");
        // Another call that waits for it for a while changes nothing about that.
        let mut waiting = Box::pin(process.call(&caller, "{}"));
        tokio::select! {
            biased;
            _ = &mut waiting => {}
            seen = let_pass(&process, &id, 8) => assert_eq!(seen, [State::Pending]),
        }
        drop(waiting);
        assert_eq!(let_pass(&process, &id, 60).await, [State::Pending], "{wait}");
        assert_eq!(process.answer(&id, &once(), &terminal()), "approved");
    }
}

/// Whoever waits on the command line has nobody else come back, unless they leave it open.
#[tokio::test]
async fn who_waits_themselves_says_so() {
    let scene = Scene::new();
    let (process, other) = (scene.process(), scene.process());
    let id = process.ask(&local(), "{}").await;
    let ends_in = |process: &Process| process.approval(&id).ends_at_ms() - now_ms();
    let lasts = ends_in(&process);
    other.gate.approvals().still_waits(&id).unwrap();
    assert_eq!(ends_in(&process), lasts, "it is another process's question");
    process.gate.approvals().still_waits(&id).unwrap();
    assert_eq!(ends_in(&process), 15_000);
    process.gate.approvals().leave_open(&id).unwrap();
    assert_eq!(ends_in(&process), lasts);
    assert_eq!(process.answer(&id, &once(), &terminal()), "approved");
    // What is settled stays so.
    process.gate.approvals().still_waits(&id).unwrap();
    process.gate.approvals().leave_open("nothing").unwrap();
    assert_eq!(process.call(&local(), "{}").await, "ran");
}

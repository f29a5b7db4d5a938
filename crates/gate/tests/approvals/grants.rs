//! Standing permissions: what they answer, and how they end.

use crate::scene::*;

/// An answer, and then by which client and with what a call is made, and whether it runs.
type Case<'a> = (Answer, Vec<(Client, &'a str, bool)>);

#[tokio::test]
async fn a_grant_answers_what_it_was_given_for() {
    let session = |number, over| Client { conversation: number, over, ..Client::default() };
    let first = || session(1, Some(Cancel::new()));
    let asked = r#"{"path":"a","to":{"x":1}}"#;
    let member = |pointer: &str| scope(Scope::Always(Pattern::Members(vec![pointer.to_owned()])));
    // answer, and then: client, arguments, whether it runs
    let cases: [Case<'_>; 6] = [
        (once(), vec![(first(), asked, true), (first(), asked, false)]),
        (
            scope(Scope::Session),
            vec![
                (first(), asked, true),
                (first(), asked, true),
                (first(), "{}", true),
                (session(2, Some(Cancel::new())), "{}", false),
                (session(7, None), "{}", false),
            ],
        ),
        (
            scope(Scope::Always(Pattern::Same)),
            vec![(first(), asked, true), (session(2, None), asked, true), (first(), "{}", false)],
        ),
        (scope(Scope::Always(Pattern::Any)), vec![(first(), asked, true), (session(2, None), "{}", true)]),
        (
            member("/path"),
            vec![
                (first(), asked, true),
                (first(), r#"{"to":0,"path":"a"}"#, true),
                (first(), r#"{"path":"b","to":{"x":1}}"#, false),
                (first(), r#"{"to":{"path":"a"}}"#, false),
            ],
        ),
        (
            member("/to/x"),
            vec![
                (first(), asked, true),
                (first(), r#"{"to":{"x":1,"y":2}}"#, true),
                (first(), r#"{"to":{"x":1.0}}"#, false),
            ],
        ),
    ];
    for (answer, then) in cases {
        let scene = Scene::new();
        let process = scene.process();
        let Err(Failure::Refused(Refusal::ApprovalPending(awaited))) =
            process.make(&local(), asked, first(), None).await
        else {
            panic!("a question")
        };
        assert_eq!(process.answer(&awaited.id, &answer, &terminal()), "approved", "{answer:?}");
        for (nth, (client, arguments, runs)) in then.into_iter().enumerate() {
            let ran = process.make(&local(), arguments, client, None).await.is_ok();
            assert_eq!(ran, runs, "{answer:?}: {nth} {arguments}");
        }
        // Nobody else's calls.
        assert_ne!(process.call(&holder("k", Role::Owner), asked).await, "ran");
    }
}

#[tokio::test]
async fn what_is_typed_to_a_task_is_allowed_for_good_by_nothing_that_names_arguments() {
    let (starts, typed) = (r#"{"command":"ls"}"#, r#"{"command":"ls","task_id":1}"#);
    let always = |pattern| scope(Scope::Always(pattern));
    let command = || always(Pattern::Members(vec!["/command".to_owned()]));
    let scene = Scene::new();
    let process = scene.process();
    let id = process.types(typed).await;
    for answer in [always(Pattern::Same), always(Pattern::Members(vec!["/task_id".to_owned()])), command()] {
        assert_eq!(process.answer(&id, &answer, &terminal()), "not_for_good", "{answer:?}");
    }
    assert_eq!(process.answer(&id, &once(), &terminal()), "approved");
    assert_eq!(process.types(typed).await, "ran");
    // What is allowed for good is the start alone.
    let id = process.types(starts).await;
    assert_eq!(process.answer(&id, &command(), &terminal()), "approved");
    for _ in 0..2 {
        assert_eq!(process.types(starts).await, "ran");
    }
    let id = process.types(typed).await;
    assert_ne!(id, "ran");
    assert_eq!(process.answer(&id, &scope(Scope::Session), &terminal()), "approved");
    for _ in 0..2 {
        assert_eq!(process.types(typed).await, "ran");
    }
}

#[tokio::test]
async fn a_grant_is_seen_and_revoked() {
    let scene = Scene::new();
    let process = scene.process();
    let id = process.ask(&local(), r#"{"path":"a"}"#).await;
    let bad = scope(Scope::Always(Pattern::Members(vec!["/nope".to_owned()])));
    let fault = process.gate.approvals().answer(&id, &bad, &terminal(), None).unwrap_err().to_string();
    assert!(fault.contains("`/nope`") && fault.contains("`/path`"), "{fault}");
    let narrow = scope(Scope::Always(Pattern::Members(vec!["/path".to_owned()])));
    process.answer(&id, &narrow, &terminal());
    let approvals = process.gate.approvals();
    let grants = approvals.grants(&terminal()).unwrap();
    assert_eq!(grants.iter().map(|grant| grant.pattern()).collect::<Vec<_>>(), ["/path = \"a\""]);
    assert!(approvals.grants(&holder("k", Role::Agent)).unwrap().is_empty());
    let grant = &grants[0].id;
    assert_eq!(approvals.revoke(grant, &holder("k", Role::Agent)).unwrap_err().code(), "unknown_grant");
    assert_eq!(approvals.revoke(grant, &holder("k", Role::Auditor)).unwrap_err().code(), "unknown_grant");
    assert_eq!(process.call(&local(), r#"{"path":"a"}"#).await, "ran");
    approvals.revoke(grant, &holder("k", Role::Maintainer)).unwrap();
    assert_eq!(process.call(&local(), r#"{"path":"a"}"#).await, "approval_required");
    assert_eq!(approvals.revoke(grant, &terminal()).unwrap_err().code(), "unknown_grant");
}

#[tokio::test]
async fn what_is_revoked_before_it_is_used_does_not_run() {
    let scene = Scene::new();
    let process = scene.process();
    let id = process.ask(&local(), "{}").await;
    process.answer(&id, &scope(Scope::Session), &terminal());
    let approvals = process.gate.approvals();
    let grant = approvals.grants(&terminal()).unwrap()[0].id.clone();
    approvals.revoke(&grant, &terminal()).unwrap();
    assert_eq!(process.approval(&id).status(now_ms()).as_str(), "expired");
    assert_eq!(process.call(&local(), "{}").await, "approval_required");
}

#[tokio::test]
async fn a_session_ends_with_its_process_or_its_day() {
    let scene = Scene::new();
    let process = scene.process();
    let id = process.ask(&local(), "{}").await;
    process.answer(&id, &scope(Scope::Session), &terminal());
    assert_eq!(
        process.call(&local(), r#"{"n":1}"#).await,
        "ran",
        "a client without a session has the whole run"
    );
    assert_eq!(scene.process().call(&local(), r#"{"n":1}"#).await, "approval_required");
    pass(Duration::from_secs(8 * 60 * 60));
    assert_eq!(process.call(&local(), r#"{"n":2}"#).await, "approval_required");
    assert!(process.gate.approvals().grants(&terminal()).unwrap().is_empty());
}

#[tokio::test]
async fn a_later_key_of_the_same_name_has_nothing_of_the_first() {
    let scene = Scene::new();
    let process = scene.process();
    let key = |id: &str| holder("key:k", Role::Agent).with_proof(Proof::Key(id.into()));
    let (first, later) = (key("first"), key("later"));
    let id = process.ask(&first, "{}").await;
    assert_eq!(process.answer(&id, &scope(Scope::Always(Pattern::Any)), &terminal()), "approved");
    assert_eq!(process.call(&first, "{}").await, "ran");
    assert_eq!(process.call(&later, "{}").await, "approval_required", "the standing permission");
    let id = process.ask(&later, r#"{"n":1}"#).await;
    assert_eq!(process.answer(&id, &once(), &terminal()), "approved");
    let ended = process.gate.approvals().forget("key:other").unwrap();
    assert_eq!(ended, Forgotten::default());
    let ended = process.gate.approvals().forget("key:k").unwrap();
    assert_eq!(ended, Forgotten { grants: 1, approvals: 2 });
    assert_eq!(process.call(&first, "{}").await, "approval_required");
    assert_eq!(process.call(&later, r#"{"n":1}"#).await, "approval_required", "what was not used has ended");
    assert_eq!(process.answer(&id, &once(), &terminal()), "already_answered");
}

#[tokio::test]
async fn two_keys_of_one_name_do_not_share_an_approval() {
    let scene = Scene::new();
    let process = scene.process();
    let key = |id: &str| holder("key:k", Role::Agent).with_proof(Proof::Key(id.into()));
    let id = process.ask(&key("first"), "{}").await;
    assert_eq!(process.answer(&id, &once(), &terminal()), "approved");
    assert_eq!(process.call(&key("later"), "{}").await, "approval_required");
    assert_eq!(process.call(&key("first"), "{}").await, "ran", "and it was not used up");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_does_not_run_once_its_key_is_revoked() {
    let scene = Scene::waiting(20);
    let process = scene.process();
    let is_known = Arc::new(AtomicBool::new(true));
    let known = is_known.clone();
    process.gate.approvals().ask_after_callers(Box::new(move |_| Ok(known.load(Ordering::SeqCst))));
    let caller = holder("key:k", Role::Agent);
    let revoking = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        is_known.store(false, Ordering::SeqCst);
        let waiting = process.gate.approvals().approvals(&terminal()).unwrap();
        assert_eq!(process.answer(&waiting[0].id, &once(), &terminal()), "approved");
    };
    let (ended, ()) = tokio::join!(process.call(&caller, "{}"), revoking);
    assert_eq!((ended.as_str(), scene.ran()), ("key_revoked", 0));
    assert_eq!(process.call(&caller, "{}").await, "key_revoked");
}

#[tokio::test]
async fn the_session_of_a_key_is_known_to_every_process() {
    let scene = Scene::new();
    let first = scene.process();
    let with_key = |id: &str| holder("key:ci", Role::Agent).with_proof(Proof::Key(id.into()));
    for caller in [with_key("k1"), local()] {
        let id = first.ask(&caller, "{}").await;
        assert_eq!(first.answer(&id, &scope(Scope::Session), &terminal()), "approved");
        assert_eq!(first.call(&caller, "{}").await, "ran");
    }
    drop(first);
    let next = scene.process();
    assert_eq!(next.call(&with_key("k1"), r#"{"other":1}"#).await, "ran");
    assert_eq!(next.call(&with_key("k2"), "{}").await, "approval_required", "a later key of its name");
    assert_eq!(next.call(&local(), "{}").await, "approval_required", "nothing tells this client from others");
    pass(Duration::from_secs(8 * 60 * 60));
    assert_eq!(next.call(&with_key("k1"), "{}").await, "approval_required");
}

//! Who may answer, what an answer is good for, and for how long.

use crate::scene::*;

/// Who asks, what, who answers, what: and what comes of the answer and of the same call then.
#[tokio::test]
async fn an_answer_counts_from_the_right_person() {
    let key = |role| holder("k", role);
    let cases = [
        (local(), once(), terminal(), "approved", "ran"),
        (local(), deny("no"), terminal(), "denied", "approval_denied"),
        (local(), once(), person("k", Role::Maintainer), "approved", "ran"),
        (local(), once(), person("k", Role::Owner), "approved", "ran"),
        // Agents hold keys, too, and of any role.
        (local(), once(), key(Role::Maintainer), "not_a_person", "approval_required"),
        (local(), once(), key(Role::Owner), "not_a_person", "approval_required"),
        (local(), deny("no"), key(Role::Owner), "not_a_person", "approval_required"),
        (person("k", Role::Owner), once(), person("k", Role::Owner), "own_question", "approval_required"),
        (local(), once(), person("k", Role::Auditor), "wrong_role", "approval_required"),
        (local(), once(), key(Role::Auditor), "wrong_role", "approval_required"),
        (local(), once(), key(Role::Developer), "unknown_approval", "approval_required"),
        (local(), once(), key(Role::Agent), "unknown_approval", "approval_required"),
        (local(), once(), Caller::local_user(Via::Http), "own_question", "approval_required"),
        (local(), once(), Caller::local_user(Via::Stdio), "own_question", "approval_required"),
        (local(), deny("no"), Caller::local_user(Via::Http), "own_question", "approval_required"),
        // It may be the same agent, without its key.
        (
            holder("k", Role::Agent),
            once(),
            Caller::local_user(Via::Http),
            "key_required",
            "approval_required",
        ),
        (
            holder("k", Role::Agent),
            deny("no"),
            Caller::local_user(Via::Http),
            "key_required",
            "approval_required",
        ),
        (holder("k", Role::Agent), once(), terminal(), "approved", "ran"),
    ];
    for (asks, answer, by, answered, then) in cases {
        let scene = Scene::new();
        let process = scene.process();
        let id = process.ask(&asks, "{}").await;
        let case = format!("{answer:?} by {by:?}");
        assert_eq!(process.ask(&asks, " { } ").await, id, "one call has one question");
        assert_eq!(process.answer(&id, &answer, &by), answered, "{case}");
        assert_eq!(process.call(&asks, "{ }").await, then, "{case}");
    }
}

/// What a caller says to the person is shown, and no part of what is answered.
#[tokio::test]
async fn other_words_about_a_call_make_no_other_call() {
    let call = |note: &str| format!(r#"{{"n":1,"note":"{note}"}}"#);
    for (answer, answered, then) in [
        (once(), "approved", "ran"),
        (scope(Scope::Always(Pattern::Same)), "approved", "ran"),
        (deny("no"), "denied", "approval_denied"),
    ] {
        let scene = Scene::new();
        let process = scene.process();
        let id = process.ask(&local(), &call("why")).await;
        let asked = process.gate.approvals().approvals(&terminal()).unwrap();
        assert!(asked[0].arguments.contains("why"), "a person reads it");
        assert_eq!(process.ask(&local(), &call("how")).await, id, "one call has one question");
        assert_ne!(process.ask(&local(), r#"{"n":2,"note":"why"}"#).await, id);
        assert_ne!(
            process.ask(&local(), r#"{"n":1,"of":{"note":"why"}}"#).await,
            id,
            "that is another argument"
        );
        assert_eq!(process.answer(&id, &answer, &terminal()), answered);
        assert_eq!(process.call(&local(), r#"{"n":1}"#).await, then, "{answer:?}");
    }
}

#[tokio::test]
async fn a_permission_is_for_one_call_of_one_caller_once() {
    let scene = Scene::new();
    let process = scene.process();
    let id = process.ask(&local(), r#"{"n":1,"m":"x"}"#).await;
    assert_eq!(process.answer(&id, &once(), &terminal()), "approved");
    for (caller, arguments) in [
        (local(), r#"{"n":2,"m":"x"}"#),
        (local(), r#"{"n":1.0,"m":"x"}"#),
        (local(), r#"{"n":1}"#),
        (local(), r#"{"n":1,"m":"x","o":null}"#),
    ] {
        assert_eq!(process.call(&caller, arguments).await, "approval_required", "{arguments}");
    }
    let spelt = r#" {"m": "\u0078", "n" :1}"#;
    assert_eq!(process.call(&local(), spelt).await, "ran", "another spelling is the same call");
    assert_eq!(scene.ran(), 1);
    assert_ne!(process.ask(&local(), spelt).await, id, "it was good for once");
    assert_eq!(process.approval(&id).status(now_ms()).as_str(), "used");
}

/// Digits beyond what a double holds make another call.
#[tokio::test]
async fn large_numbers_are_told_apart() {
    let scene = Scene::new();
    let process = scene.process();
    let id = process.ask(&local(), r#"{"wei":18446744073709551617}"#).await;
    process.answer(&id, &once(), &terminal());
    assert_eq!(process.call(&local(), r#"{"wei":18446744073709551616}"#).await, "approval_required");
    assert_eq!(process.call(&local(), r#"{"wei":18446744073709551617}"#).await, "ran");
}

#[tokio::test]
async fn an_answer_counts_once_and_in_time() {
    let scene = Scene::new();
    let process = scene.process();
    let id = process.ask(&local(), "{}").await;
    assert_eq!(process.answer(&id, &deny("not now"), &terminal()), "denied");
    assert_eq!(process.answer(&id, &once(), &terminal()), "already_answered");
    let fault = process.gate.approvals().answer(&id, &once(), &terminal(), None).unwrap_err().to_string();
    assert!(fault.starts_with(&format!("approval {id} was denied by local at 20")), "{fault}");
    let told = process.make(&local(), "{}", Client::default(), None).await.unwrap_err().to_string();
    assert!(told.contains("local denied it") && told.contains(": not now;"), "{told}");
    assert_eq!(process.answer("nothing", &once(), &terminal()), "unknown_approval");
    assert_eq!(process.answer("", &once(), &terminal()), "unknown_approval");

    // A refusal holds as long as the question would have been open.
    pass(scene.config.lasts);
    let id = process.ask(&local(), "{}").await;
    pass(scene.config.lasts);
    assert_eq!(process.answer(&id, &once(), &terminal()), "approval_expired");
    let id = process.ask(&local(), "{}").await;
    assert_eq!(process.answer(&id, &once(), &terminal()), "approved");
    pass(scene.config.lasts);
    assert_eq!(process.call(&local(), "{}").await, "approval_required", "a permission ends, too");
    assert_eq!(process.answer(&id, &once(), &terminal()), "already_answered");
}

#[tokio::test]
async fn another_definition_needs_another_answer() {
    let scene = Scene::new();
    let process = scene.process();
    let id = process.ask(&local(), "{}").await;
    process.answer(&id, &scope(Scope::Always(Pattern::Any)), &terminal());
    assert_eq!(process.call(&local(), "{}").await, "ran");
    process.catalog.replace("u", vec![burn("burns more", &scene.ran)], Features::default());
    assert_eq!(process.call(&local(), "{}").await, "approval_required");
    process.catalog.replace("u", vec![burn("burns", &scene.ran)], Features::default());
    assert_eq!(process.call(&local(), "{}").await, "ran", "back to what was allowed");
}

/// Asks about everything, by a rule of this name, and lets people of these roles answer.
struct Asks(&'static str, Roles);

impl policy::Engine for Asks {
    fn decide(&self, _: &policy::Facts<'_>, _: &serde_json::Value) -> policy::Decision {
        let obligations = policy::Obligations { approvers: self.1, ..Default::default() };
        let (verdict, why) = (policy::Verdict::Ask, "is asked about".into());
        policy::Decision { verdict, rule: self.0.into(), why, obligations: Arc::new(obligations) }
    }

    fn may_see(&self, _: &policy::Facts<'_>) -> bool {
        true
    }

    fn class(&self, _: &Caller) -> u64 {
        0
    }
}

#[tokio::test]
async fn another_rule_needs_another_answer() {
    let scene = Scene::new();
    let process = scene.process();
    let govern = |rule, roles| {
        let ruleset = Ruleset::new(Asks(rule, roles), RateConfig { per_second: 0, burst: 1 });
        process.gate.govern(Ruleset { approvals: scene.config.clone(), ..ruleset });
    };
    govern("first", Roles::default());
    let first = process.ask(&local(), "{}").await;
    process.answer(&first, &scope(Scope::Always(Pattern::Any)), &terminal());
    govern("second", Roles::default());
    let second = process.ask(&local(), "{}").await;
    assert_ne!(second, first);
    govern("second", Role::Developer.into());
    let third = process.ask(&local(), "{}").await;
    assert_ne!(third, second, "others may answer now");
    assert_eq!(
        process.answer(&third, &once(), &terminal()),
        "wrong_role",
        "not even the owner, if a rule says so"
    );
    assert_eq!(process.answer(&third, &once(), &person("k", Role::Developer)), "approved");
    assert_eq!(process.call(&local(), "{}").await, "ran");
    govern("first", Roles::default());
    assert_eq!(process.call(&local(), "{}").await, "ran");
    assert_eq!(process.call(&local(), "{}").await, "ran", "the grant is for the first rule");
}

#[tokio::test]
async fn what_was_asked_and_answered_outlives_the_process() {
    let scene = Scene::new();
    let id = scene.process().ask(&local(), "{}").await;
    let second = scene.process();
    assert_eq!(second.ask(&local(), "{}").await, id);
    assert_eq!(scene.process().answer(&id, &once(), &terminal()), "approved");
    assert_eq!(second.call(&local(), "{}").await, "ran");
    assert_eq!(scene.process().call(&local(), "{}").await, "approval_required");
}

#[tokio::test]
async fn of_many_processes_one_uses_a_permission() {
    let scene = Scene::new();
    let processes: Vec<_> = (0..4).map(|_| scene.process()).collect();
    let id = processes[0].ask(&local(), "{}").await;
    processes[1].answer(&id, &once(), &terminal());
    let caller = local();
    let calls =
        processes.iter().flat_map(|process| [process.call(&caller, "{}"), process.call(&caller, "{}")]);
    let ended = futures_util::future::join_all(calls).await;
    assert_eq!(ended.iter().filter(|end| *end == "ran").count(), 1, "{ended:?}");
    assert_eq!(scene.ran(), 1);
}

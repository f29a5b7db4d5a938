//! Too many questions, nobody to answer them, and a store that cannot keep them.

use crate::scene::*;

#[tokio::test]
async fn a_flood_of_questions_is_stopped() {
    let scene = Scene::new();
    let process = scene.process();
    let arguments = |nth: usize| format!("{{\"n\":{nth}}}");
    for nth in 0..PENDING_PER_CALLER_MAX {
        process.ask(&local(), &arguments(nth)).await;
    }
    assert_eq!(process.call(&local(), &arguments(PENDING_PER_CALLER_MAX)).await, "too_many_approvals");
    let id = process.ask(&local(), &arguments(0)).await;
    process.answer(&id, &deny("no"), &terminal());
    process.ask(&local(), &arguments(PENDING_PER_CALLER_MAX)).await;

    let approvals = process.gate.approvals();
    let open = || {
        let all = approvals.approvals(&terminal()).unwrap();
        all.iter().filter(|it| it.status(now_ms()).as_str() == "pending").count()
    };
    let mut asked = open();
    for caller in 0.. {
        let caller = Caller::new(
            format!("c{caller}").into(),
            CallerKind::LocalUser,
            Role::Agent.into(),
            Scopes::all(),
            Via::Http,
        );
        for nth in 0..PENDING_PER_CALLER_MAX {
            match process.call(&caller, &arguments(nth)).await.as_str() {
                "approval_required" => asked += 1,
                "too_many_approvals" => {
                    assert_eq!((asked, open()), (PENDING_MAX, PENDING_MAX));
                    return;
                }
                other => panic!("{other}"),
            }
        }
    }
}

/// Answers a question for ever, where so many permissions stand already, some of them ended. The result, how many the answer has
/// added, and what becomes of the call, made twice.
async fn check_grants(standing: usize, ended: usize, expected: (&str, usize, [&str; 2])) {
    let scene = Scene::new();
    let store = Arc::new(SqliteStore::at(&scene.folder.path().join("state")));
    let process = scene.process_over(store.clone());
    // Others cannot read what they say, and they count all the same.
    let grant = |nth: usize| {
        let ends_at_ms = (nth < ended).then(now_ms);
        Change::put(Kind::Grant, &nth.to_string(), None, Content { ends_at_ms, ..Content::from("{}") })
    };
    store::wait(store.commit((0..standing).map(grant).collect())).unwrap().unwrap();
    let id = process.ask(&local(), "{}").await;
    let answered = process.answer(&id, &scope(Scope::Always(Pattern::Any)), &terminal());
    let added = process.gate.approvals().grants(&terminal()).unwrap().len();
    let called = [process.call(&local(), "{}").await, process.call(&local(), "{}").await];
    assert_eq!(
        (&*answered, added, called.each_ref().map(|called| &**called)),
        expected,
        "{standing} {ended}"
    );
}

#[tokio::test]
async fn no_more_grants_are_given_than_there_may_be() {
    let given = ("approved", 1, ["ran", "ran"]);
    check_grants(GRANTS_MAX - 1, 0, given).await;
    check_grants(GRANTS_MAX, 1, given).await;
    check_grants(GRANTS_MAX, 0, ("too_many_grants", 0, ["ran", "approval_required"])).await;
}

#[tokio::test]
async fn nobody_may_be_asked_or_nothing_can_be_kept() {
    let mut scene = Scene::new();
    scene.config.roles = Roles::default();
    let told = scene.process().make(&local(), "{}", Client::default(), None).await.unwrap_err();
    assert_eq!(told.code(), "approval_required");
    assert!(told.to_string().contains("nobody may be asked"), "{told}");

    let scene = Scene::new();
    let process = scene.process();
    // A folder stands where the database should lie.
    #[expect(clippy::disallowed_methods, reason = "the test spoils the state on purpose")]
    std::fs::create_dir_all(scene.folder.path().join("state/toolcrib.db")).unwrap();
    assert_eq!(process.call(&local(), "{}").await, "plan_mode_unavailable");
    assert_eq!(scene.ran(), 0);
}

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
    assert_eq!(process.call(&local(), "{}").await, "approvals_unavailable");
    assert_eq!(scene.ran(), 0);
}

//! What a person says of a call in one workspace, and taking a denial back.

use crate::scene::*;

/// Two processes on one state folder, each with a workspace of its own.
fn two(upstream: Option<&str>) -> (Scene, [tempfile::TempDir; 2], [Process; 2]) {
    let scene = Scene::new();
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let processes = folders.each_ref().map(|folder| scene.process_in(folder.path(), upstream));
    (scene, folders, processes)
}

#[tokio::test]
async fn a_denial_concerns_its_own_workspace() {
    for upstream in [None, Some("u")] {
        let (_scene, _folders, [here, there]) = two(upstream);
        let id = here.ask(&local(), "{}").await;
        assert_eq!(here.answer(&id, &deny("no"), &terminal()), "denied");
        assert_eq!(here.call(&local(), "{}").await, "approval_denied", "{upstream:?}");
        let other = there.ask(&local(), "{}").await;
        assert_ne!(other, id);
        assert_eq!(there.answer(&other, &once(), &terminal()), "approved");
        assert_eq!(here.call(&local(), "{}").await, "approval_denied");
        assert_eq!(there.call(&local(), "{}").await, "ran");
    }
}

#[tokio::test]
async fn a_grant_for_a_tool_of_ours_is_good_in_its_own_workspace() {
    for (upstream, elsewhere) in [(None, "approval_required"), (Some("u"), "ran")] {
        let (_scene, _folders, [here, there]) = two(upstream);
        let id = here.ask(&local(), "{}").await;
        assert_eq!(here.answer(&id, &scope(Scope::Always(Pattern::Same)), &terminal()), "approved");
        // The first uses the permission for the call itself.
        for _ in 0..2 {
            assert_eq!(here.call(&local(), "{}").await, "ran", "{upstream:?}");
        }
        assert_eq!(there.call(&local(), "{}").await, elsewhere, "{upstream:?}");
    }
}

#[tokio::test]
async fn what_was_denied_asks_again_once_that_is_taken_back() {
    let scene = Scene::new();
    let process = scene.process();
    let approvals = process.gate.approvals().clone();
    let reset = |id: Option<&str>, by: &Caller| match approvals.reset(id, by) {
        Ok(reset) => reset.iter().map(|it| it.id.to_string()).collect::<Vec<_>>(),
        Err(fault) => vec![fault.code().to_owned()],
    };
    assert_eq!(reset(None, &terminal()), Vec::<String>::new());
    let (mut ids, calls) = (Vec::new(), ["{}", r#"{"path":"a"}"#, r#"{"path":"b"}"#]);
    for arguments in calls {
        let id = process.ask(&local(), arguments).await;
        assert_eq!(reset(Some(&id), &terminal()), ["not_denied"], "it is open");
        assert_eq!(process.answer(&id, &deny("no"), &terminal()), "denied");
        ids.push(id);
    }
    assert_eq!(reset(Some(&ids[0]), &holder("agent", Role::Agent)), ["not_denied"]);
    assert_eq!(reset(Some("nothing"), &terminal()), ["not_denied"]);
    assert_eq!(process.call(&local(), calls[0]).await, "approval_denied");
    assert_eq!(reset(Some(&ids[0]), &terminal()), [ids[0].clone()]);
    assert_eq!(reset(Some(&ids[0]), &terminal()), ["not_denied"], "once is enough");
    assert_eq!(process.call(&local(), calls[0]).await, "approval_required");
    assert_eq!(process.call(&local(), calls[1]).await, "approval_denied", "the others still hold");
    let mut rest = reset(None, &terminal());
    rest.sort();
    ids.remove(0);
    ids.sort();
    assert_eq!(rest, ids);
    assert_eq!(process.call(&local(), calls[2]).await, "approval_required");
}

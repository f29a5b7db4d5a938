//! The code that only a person knows.

use store::{CellStore as _, Kind, wait};

use crate::scene::*;

fn set(process: &Process, old: Option<&str>, new: Option<&str>) -> String {
    let [old, new] = [old, new].map(|code| code.map(Code::new));
    match process.gate.approvals().set_code(old.as_ref(), new.as_ref()) {
        Ok(()) => "set".to_owned(),
        Err(fault) => fault.to_string(),
    }
}

#[tokio::test]
async fn with_a_code_nothing_is_allowed_without_it() {
    for (answer, by, code, answered) in [
        (once(), terminal(), None, "code_required"),
        (once(), terminal(), Some("wrong"), "wrong_code"),
        (once(), terminal(), Some(""), "wrong_code"),
        (once(), terminal(), Some("k33n"), "approved"),
        (scope(Scope::Session), terminal(), Some("k33n"), "approved"),
        (scope(Scope::Always(Pattern::Any)), terminal(), None, "code_required"),
        (scope(Scope::Always(Pattern::Any)), terminal(), Some("k33n"), "approved"),
        (once(), person("k", Role::Owner), None, "code_required"),
        (once(), person("k", Role::Owner), Some("k33n"), "approved"),
        // Who may not answer learns nothing of the code.
        (once(), holder("k", Role::Owner), Some("k33n"), "not_a_person"),
        (deny("no"), terminal(), None, "denied"),
        (deny("no"), terminal(), Some("wrong"), "denied"),
    ] {
        let scene = Scene::new();
        let process = scene.process();
        assert_eq!(set(&process, None, Some("k33n")), "set");
        let id = process.ask(&local(), "{}").await;
        let case = format!("{answer:?} by {by:?} with {code:?}");
        assert_eq!(process.answer_with(&id, &answer, &by, code), answered, "{case}");
        let runs = if answered == "approved" { "ran" } else { "approval_" };
        assert!(process.call(&local(), "{}").await.starts_with(runs), "{case}");
    }
}

#[test]
fn only_who_knows_a_code_changes_it() {
    let scene = Scene::new();
    let process = scene.process();
    for (old, new, expected) in [
        (None, Some("abc"), "a code has at least 4 characters, and at most 256 bytes"),
        (None, Some("\u{e4}\u{e4}\u{e4}"), "a code has at least 4 characters, and at most 256 bytes"),
        (None, None, "set"),
        (None, Some("k33n"), "set"),
        (None, Some("other"), "to allow anything here takes the code that was set for approvals"),
        (Some("wrong"), Some("other"), "the code is wrong"),
        (Some("wrong"), None, "the code is wrong"),
        (None, None, "to allow anything here takes the code that was set for approvals"),
        (Some("k33n"), Some("abc"), "a code has at least 4 characters, and at most 256 bytes"),
        (Some("k33n"), Some("other"), "set"),
        (Some("k33n"), None, "the code is wrong"),
        (Some("other"), None, "set"),
        (None, Some("anew"), "set"),
    ] {
        assert_eq!(set(&process, old, new), expected, "{old:?} {new:?}");
    }
}

#[test]
fn wrong_codes_cost_time_in_every_process() {
    let scene = Scene::new();
    let tries = |code| {
        // Another process each time: what is counted is in the store.
        match scene.process().gate.approvals().check_code(Some(&Code::new(code))) {
            Ok(()) => "good",
            Err(gate::approvals::CodeFault::Wrong) => "wrong",
            Err(gate::approvals::CodeFault::Wait { .. }) => "wait",
            Err(fault) => panic!("{fault}"),
        }
    };
    assert_eq!(set(&scene.process(), None, Some("k33n")), "set");
    let s = Duration::from_secs;
    for (later, code, expected) in [
        (s(0), "a", "wrong"),
        (s(0), "b", "wrong"),
        (s(0), "c", "wrong"),
        (s(0), "k33n", "good"),
        // A good one takes the count back.
        (s(0), "a", "wrong"),
        (s(0), "b", "wrong"),
        (s(0), "c", "wrong"),
        (s(0), "d", "wrong"),
        (s(0), "e", "wrong"),
        (s(0), "k33n", "wait"),
        (s(29), "k33n", "wait"),
        (s(1), "f", "wrong"),
        (s(59), "k33n", "wait"),
        (s(1), "g", "wrong"),
        (s(119), "k33n", "wait"),
        (s(1), "k33n", "good"),
        (s(0), "a", "wrong"),
        (s(0), "k33n", "good"),
    ] {
        pass(later);
        assert_eq!(tries(code), expected, "{code} after {later:?}");
    }
}

#[test]
fn what_is_kept_tells_no_code_and_opens_nothing_when_it_is_broken() {
    let scene = Scene::new();
    let process = scene.process();
    assert_eq!(set(&process, None, Some("k33n")), "set");
    let store = SqliteStore::at(&scene.folder.path().join("state"));
    let kept = wait(store.cell(Kind::ApprovalCode, "code")).unwrap().expect("it is kept");
    let text = String::from_utf8(kept.value).unwrap();
    assert!(text.contains("$argon2id$v=19$m=19456,t=2,p=1$") && !text.contains("k33n"), "{text}");
    assert_eq!(format!("{:?}", Code::new("k33n")), "Code(***)");
    wait(store.overwrite(Kind::ApprovalCode, "code", b"{}".to_vec())).unwrap();
    let fault = process.gate.approvals().check_code(Some(&Code::new("k33n"))).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "what is kept of the code for approvals cannot be read, so nothing is allowed by it"
    );
}

//! Standing permissions for commands that begin with the same words: first what they are no answer to.

use gate::approvals::Lasts;

use crate::scene::*;

/// A question about a command of `Bash`, or whether it ran.
async fn runs(process: &Process, tool: &str, arguments: &str) -> Result<(), String> {
    let arguments = Some(Bytes::copy_from_slice(arguments.as_bytes()));
    match process.gate.call(&local(), Call::tool(tool, arguments)).await {
        Ok(_) => Ok(()),
        Err(Failure::Refused(Refusal::ApprovalPending(awaited))) => Err(awaited.id.to_string()),
        Err(other) => panic!("{other:?}"),
    }
}

async fn command(process: &Process, command: &str) -> Result<(), String> {
    runs(process, BASH, &serde_json::json!({ "command": command }).to_string()).await
}

/// A process in which commands that begin as this one may run.
async fn allowing(scene: &Scene, first: &str, lasts: Lasts) -> Process {
    let process = scene.process();
    let id = command(&process, first).await.unwrap_err();
    assert_eq!(process.answer(&id, &scope(Scope::Beginnings(lasts)), &terminal()), "approved", "{first}");
    assert_eq!(command(&process, first).await, Ok(()), "what it was given with");
    process
}

#[tokio::test]
async fn nothing_else_runs_by_the_words_of_a_command() {
    let scene = Scene::new();
    let process = allowing(&scene, "git status", Lasts::Always).await;
    for text in [
        "git status; rm -rf x",
        "git status; rm x",
        "git status && curl x",
        "git status | tee x",
        "git status\nrm x",
        "rm x; git status",
        "git status > f",
        "git status $(rm x)",
        "git status `rm x`",
        "git status $X",
        "git status <<'EOF'\nrm x\nEOF",
        "git statusx",
        "git stat",
        "git push",
        "git -C x status",
        "gits tatus",
        "GIT_PAGER=x git status",
        "/tmp/git status",
        "./git status",
        "'git' status",
        "sudo git status",
        "env git status",
        "xargs git status",
        "bash -c 'git status'",
        "git status &",
        "(git status)",
        "git status (",
        "git",
        "",
    ] {
        let asked = command(&process, text).await.expect_err(text);
        // So that there is room for the next.
        process.gate.approvals().withdraw(&asked).unwrap();
    }
    for (tool, arguments) in [
        (BASH, r#"{"command":["git status"]}"#),
        (BASH, r#"{"text":"git status"}"#),
        // Another tool, and what is typed.
        (BACKGROUND, r#"{"command":"git status"}"#),
        (BACKGROUND, r#"{"command":"git status","task_id":1}"#),
    ] {
        assert!(runs(&process, tool, arguments).await.is_err(), "{tool} {arguments}");
    }
}

#[tokio::test]
async fn what_begins_with_the_words_runs_and_no_longer_than_it_may() {
    for lasts in [Lasts::Session, Lasts::Always] {
        let scene = Scene::new();
        let process = allowing(&scene, "git status && git log -n 5", lasts).await;
        for text in ["git status", "git log --stat x", "git status -s 'a b' 2>&1 | git log x", "git log x"] {
            assert_eq!(command(&process, text).await, Ok(()), "{lasts:?} {text}");
        }
        let with_time = r#"{"command":"git status","timeout":5}"#;
        assert_eq!(runs(&process, BASH, with_time).await, Ok(()));
        let elsewhere = command(&scene.process(), "git status -s").await;
        assert_eq!(elsewhere.is_ok(), lasts == Lasts::Always, "{lasts:?}");
        let approvals = process.gate.approvals();
        let grants = approvals.grants(&terminal()).unwrap();
        assert_eq!(grants[0].pattern(), "commands that begin with `git status` or `git log`");
        approvals.revoke(&grants[0].id, &terminal()).unwrap();
        assert!(command(&process, "git status -s").await.is_err(), "{lasts:?}");
    }
}

/// They take a permission without members for one of any arguments.
#[tokio::test]
async fn earlier_versions_read_such_a_permission_as_one_for_nothing() {
    let scene = Scene::new();
    let process = allowing(&scene, "git status", Lasts::Always).await;
    let grants = process.gate.approvals().grants(&terminal()).unwrap();
    let earlier = Grant { beginnings: Vec::new(), ..grants[0].clone() };
    let id = command(&process, "git status -s; rm x").await.unwrap_err();
    let asked = process.approval(&id).members;
    let fits =
        |wanted: &Member| asked.iter().any(|it| (&it.pointer, it.sha256) == (&wanted.pointer, wanted.sha256));
    assert!(!earlier.members.is_empty() && !earlier.members.iter().any(fits), "{earlier:?}");
}

#[tokio::test]
async fn words_are_offered_for_plain_commands_of_a_shell_alone() {
    let scene = Scene::new();
    let process = scene.process();
    let words = scope(Scope::Beginnings(Lasts::Session));
    for (tool, arguments) in [
        (BASH, r#"{"command":"git status > f"}"#),
        (BASH, r#"{"command":"sudo git status"}"#),
        (BASH, r#"{"command":"ls"}"#),
        (BACKGROUND, r#"{"command":"git status","task_id":1}"#),
    ] {
        let id = runs(&process, tool, arguments).await.unwrap_err();
        assert_eq!(process.answer(&id, &words, &terminal()), "no_beginnings", "{arguments}");
        assert!(process.approval(&id).offered_beginnings().is_empty(), "{arguments}");
    }
    // Not for tools of others, whatever they are called and take.
    let id = process.ask(&local(), r#"{"command":"git status"}"#).await;
    assert_eq!(process.answer(&id, &words, &terminal()), "no_beginnings");
    let id = runs(&process, BACKGROUND, r#"{"command":"git status"}"#).await.unwrap_err();
    assert_eq!(process.approval(&id).report(now_ms()).beginnings, ["git status"]);
    assert_eq!(process.answer(&id, &words, &terminal()), "approved");
    assert_eq!(runs(&process, BACKGROUND, r#"{"command":"git status -s"}"#).await, Ok(()));
}

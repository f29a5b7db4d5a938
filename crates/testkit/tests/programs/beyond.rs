//! Files and folders that a program is to see beyond what its call does, and the person who is asked before it starts.

use std::fs;

use gate::approvals::{Answer, Pattern, Scope as For};
use gate::{Call, Caller, approvals};
use serde_json::{Value, json};
use testkit::SampleGate;

use super::asked::{LONG, no, open, questions, say, settings, waiting, yes};
use super::{confiner, holding, owner, told};

/// A folder elsewhere, with a file in it.
fn elsewhere() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().canonicalize().expect("there").to_str().expect("UTF-8").to_owned();
    fs::write(folder.path().join("file"), "content\n").expect("a file");
    (folder, path)
}

/// What a script prints that is shown these, or the code of the refusal.
async fn run(
    sample: &SampleGate,
    caller: &Caller,
    tool: &str,
    (read, write): (&[&str], &[&str]),
    script: &str,
) -> String {
    let arguments = json!({ "script": script, "read": read, "write": write }).to_string();
    let result = sample.gate.call(caller, Call::tool(tool, Some(arguments.into()))).await;
    match result.and_then(told) {
        Ok(ran) => ran["stdout"].as_str().expect("text").trim().to_owned(),
        Err(failure) => failure.code().to_owned(),
    }
}

/// The same, while the one question is answered so.
async fn answered(sample: &SampleGate, shown: (&[&str], &[&str]), script: &str, answer: &Answer) -> String {
    let caller = owner();
    let (found, ()) = tokio::join!(run(sample, &caller, "sh_run", shown, script), async {
        let asked = open(sample, 1).await;
        assert_eq!(say(sample, &asked[0], answer), "taken");
    });
    found
}

/// What the last record says: each path, whether it was to be written, and the answer.
fn recorded(sample: &SampleGate) -> Vec<(Value, Value, Value)> {
    let record = sample.whole_records(1).remove(0);
    let line = |it: &Value| (it["path"].clone(), it["writes"].clone(), it["approval"]["answer"].clone());
    record["folders"].as_array().into_iter().flatten().map(line).collect()
}

#[tokio::test]
async fn a_person_decides_before_the_program_starts() {
    for (answer, asks_again, answer_word) in [
        (yes(For::Once), true, "approved"),
        (yes(For::Always(Pattern::Same)), false, "approved"),
        (no(), true, "denied"),
    ] {
        for writes in [false, true] {
            let ((_folder, path), sample) = (elsewhere(), waiting(LONG));
            let paths = [path.as_str()];
            let shown: (&[&str], &[&str]) = if writes { (&[], &paths) } else { (&paths, &[]) };
            let script =
                format!("cat {path}/file; echo more > {path}/made 2>/dev/null && echo made || echo kept");
            let expected = match (answer_word, writes) {
                ("denied", _) => "folder_refused",
                (_, true) => "content\nmade",
                (_, false) => "content\nkept",
            };
            assert_eq!(answered(&sample, shown, &script, &answer).await, expected, "{answer:?} {writes}");
            assert_eq!(recorded(&sample), [(json!(path), json!(writes), json!(answer_word))]);
            let kind = if writes { "folder to write" } else { "path to read" };
            assert_eq!(questions(&sample)[0].report(0).target_kind.as_deref(), Some(kind));
            if answer == no() {
                // It holds for the next call, too.
                assert_eq!(run(&sample, &owner(), "sh_run", shown, "echo ran").await, "folder_refused");
                assert_eq!(questions(&sample).len(), 1);
            } else if asks_again {
                assert_eq!(answered(&sample, shown, "echo ran", &no()).await, "folder_refused");
            } else {
                assert_eq!(run(&sample, &owner(), "sh_run", shown, "echo ran").await, "ran");
                // To read is not to write, and the folder is not the one above it.
                let other: (&[&str], &[&str]) = if writes { (&paths, &[]) } else { (&[], &paths) };
                assert_eq!(answered(&sample, other, "echo ran", &no()).await, "folder_refused");
            }
        }
    }
}

#[tokio::test]
async fn nobody_is_asked_about_what_is_seen_anyway_or_nobody_could_allow() {
    const ALL: &[&str] = &["read_workspace", "write_workspace", "run_tests"];
    let (_folder, path) = elsewhere();
    let home = std::env::var("HOME").expect("a home");
    let silent = gate::ProgramSettings { asks: false, ..settings() };
    let shares = gate::ProgramSettings { read: vec![path.clone().into()], ..settings() };
    for (settings, scopes, tool, read, write, expected) in [
        (settings(), ALL, "sh_run", "", "WORKSPACE/sub", "ran"),
        (shares, ALL, "sh_run", &*path, "", "ran"),
        (settings(), ALL, "sh_run", "/etc", "", "folder_refused"),
        (settings(), ALL, "sh_run", "", "/tmp", "folder_refused"),
        (settings(), ALL, "sh_run", &*home, "", "folder_refused"),
        (settings(), ALL, "sh_run", "sub", "", "folder_refused"),
        (settings(), ALL, "sh_run", "/no/such/folder", "", "folder_refused"),
        // Whoever may not do it in the workspace may not do it elsewhere.
        (settings(), &["read_workspace", "run_tests"], "sh_run", "", &*path, "folder_refused"),
        (settings(), ALL, "sh_look", "", &*path, "folder_refused"),
        (settings(), &["run_tests"], "sh_run", &*path, "", "folder_refused"),
        (settings(), ALL, "sh_compute", &*path, "", "folder_refused"),
        (silent, ALL, "sh_run", &*path, "", "folder_refused"),
    ] {
        let config = approvals::Config { wait: LONG, ..approvals::Config::default() };
        let sample = SampleGate::with_people(confiner(None), settings, config);
        fs::create_dir(sample.workspace().join("sub")).expect("a folder");
        let here = sample.workspace().canonicalize().expect("there");
        let placed = |path: &str| path.replace("WORKSPACE", here.to_str().expect("UTF-8"));
        let [read, write] = [read, write].map(placed);
        let list = |path: &str| if path.is_empty() { Vec::new() } else { vec![path.to_owned()] };
        let (read, write) = (list(&read), list(&write));
        let [read_of, write_of] =
            [&read, &write].map(|list| list.iter().map(String::as_str).collect::<Vec<_>>());
        let found = run(&sample, &holding(scopes), tool, (&read_of, &write_of), "echo ran").await;
        assert_eq!(
            (&*found, questions(&sample).len()),
            (expected, 0),
            "{tool} {read:?} {write:?} {scopes:?}"
        );
    }
}

#[tokio::test]
async fn a_program_that_wants_many_folders_wants_too_many() {
    let sample = waiting(LONG);
    let folders: Vec<_> = (0..5).map(|_| elsewhere()).collect();
    let paths: Vec<&str> = folders.iter().map(|(_, path)| path.as_str()).collect();
    assert_eq!(run(&sample, &owner(), "sh_run", (&paths, &[]), "echo ran").await, "folder_refused");
    assert!(questions(&sample).is_empty());
}

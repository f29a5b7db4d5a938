//! Dry runs: nothing changes, what would change is told, and its plan is followed by the same caller's same call alone.

use std::fs;

use gate::{Call, Caller, Earnest, Failure, Outcome, Payload, ProgramSettings};
use serde_json::{Value, json};
use testkit::SampleGate;
use tool_api::Block;

use super::{confiner, holding, owner};

struct World {
    sample: SampleGate,
    _asides: tempfile::TempDir,
}

fn world() -> World {
    let asides = tempfile::tempdir().expect("a folder");
    let settings = ProgramSettings { asides: asides.path().to_owned(), ..ProgramSettings::default() };
    let sample = SampleGate::with_programs(confiner(None), settings);
    fs::write(sample.workspace().join("a.txt"), "one\n").expect("a file");
    World { sample, _asides: asides }
}

impl World {
    async fn call(&self, caller: &Caller, script: &str, earnest: Earnest) -> Result<Outcome, Failure> {
        let arguments = json!({ "script": script }).to_string();
        let call = Call { earnest, ..Call::tool("sh_run", Some(arguments.into())) };
        self.sample.gate.call(caller, call).await
    }

    async fn dry(&self, script: &str) -> (String, Vec<(String, &'static str)>) {
        let outcome = self.call(&owner(), script, Earnest::Dry).await.expect("it ran");
        let planned = outcome.planned.expect("a plan");
        let Payload::Ours { blocks, .. } = &outcome.payload else { panic!("ours") };
        let Some(Block::Text(text)) = blocks.last() else { panic!("a text") };
        assert!(planned.changes.is_empty() == text.ends_with("nothing would change"), "{text}");
        (planned.plan_hash.to_string(), planned.changes)
    }

    fn a_txt(&self) -> String {
        fs::read_to_string(self.sample.workspace().join("a.txt")).expect("a file")
    }
}

fn code<T>(result: Result<T, Failure>) -> Option<String> {
    result.err().map(|failure| failure.code().to_owned())
}

#[tokio::test]
async fn a_plan_is_followed_by_the_same_call_while_the_files_are_the_same() {
    let world = world();
    let script = "echo two > a.txt; echo new > b.txt";
    let (plan, changes) = world.dry(script).await;
    assert_eq!(changes, [("a.txt".to_owned(), "changed"), ("b.txt".to_owned(), "added")]);
    assert_eq!(world.a_txt(), "one\n");
    let planned = || Earnest::Planned(plan.as_str().into());
    let other = holding(&["read_workspace", "write_workspace", "run_tests", "network"]);
    let other =
        Caller::new("somebody".into(), other.kind(), other.roles(), other.scopes().clone(), other.via());
    for (caller, script, earnest) in [
        (&owner(), "echo three > a.txt", planned()),
        (&other, script, planned()),
        (&owner(), script, Earnest::Planned("0".into())),
    ] {
        assert_eq!(
            code(world.call(caller, script, earnest).await).as_deref(),
            Some("unknown_plan"),
            "{script}"
        );
        assert_eq!(world.a_txt(), "one\n");
    }
    assert_eq!(code(world.call(&owner(), script, planned()).await), None);
    assert_eq!(world.a_txt(), "two\n");
    assert_eq!(code(world.call(&owner(), script, planned()).await).as_deref(), Some("plan_outdated"));
    let records: Vec<Value> = world.sample.whole_records(6).iter().map(|it| it["dry_run"].clone()).collect();
    assert_eq!(records.first(), Some(&json!("true")), "{records:?}");
    assert_eq!(records.last(), Some(&json!(plan)), "{records:?}");
}

#[tokio::test]
async fn a_dry_run_of_what_changes_nothing_says_so_and_a_tool_that_only_reads_has_none() {
    let world = world();
    assert_eq!(world.dry("cat a.txt").await.1, []);
    for (tool, arguments) in [("sh_look", json!({ "script": "true" })), ("echo", json!({ "text": "a" }))] {
        let call = Call { earnest: Earnest::Dry, ..Call::tool(tool, Some(arguments.to_string().into())) };
        let failure = code(world.sample.gate.call(&owner(), call).await);
        assert_eq!(failure.as_deref(), Some("dry_run_unsupported"), "{tool}");
    }
    // Without the scope to write, there is nothing that it could change.
    let reader = holding(&["read_workspace", "run_tests"]);
    let outcome = world.call(&reader, "echo x > a.txt; true", Earnest::Dry).await.expect("it ran");
    assert_eq!(outcome.planned.expect("a plan").changes, []);
    assert_eq!(world.a_txt(), "one\n");
}

#[test]
fn whoever_says_both_changes_nothing() {
    for (dry, plan, expected) in [
        (false, None, Earnest::Real),
        (true, None, Earnest::Dry),
        (true, Some("p"), Earnest::Dry),
        (false, Some("p"), Earnest::Planned("p".into())),
    ] {
        assert_eq!(Earnest::of(dry, plan.map(str::to_owned)), expected);
    }
}

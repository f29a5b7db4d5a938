//! Leaving plan mode, where a person is asked: they see the plan, and what they allow is this plan.

use std::fs;

use tool_api::{ArgumentRoles, Need, PLAN_BYTES_MAX, PLAN_MODE, PLAN_MODE_TOOL, PlanMode};

use crate::scene::*;

const ABOUT: About = About {
    name: PLAN_MODE_TOOL,
    title: "Plan",
    summary: "plans",
    effect: Effect::Writes,
    arguments: ArgumentRoles::NONE,
    scopes: &[],
    needs: &[Need::State],
    idempotent: false,
    open_world: false,
    timeout: Duration::from_secs(1),
    examples: &[],
};

const POLICY: &str = r#"
    [[rules]]
    id = "plans"
    effect = "ask"
    tools = ["PlanMode"]
    when = "args.action == 'exit'"
"#;

/// Enters plan mode, and says which plan it would be left with: what stands in the file is for the real one.
struct Planning(Definition);

impl AnyTool for Planning {
    fn definition(&self) -> &Definition {
        &self.0
    }

    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        async move {
            if arguments.value()["action"] == "enter" {
                let plan_file = arguments.value()["plan_file"].as_str().map(str::to_owned);
                let plan = serde_json::to_vec(&PlanMode { goal: None, since_ms: 0, plan_file }).unwrap();
                assert!(cx.state()?.replace(PLAN_MODE, None, Some(plan)).await?);
            }
            let result = cx.plan.clone().unwrap_or_else(|| Bytes::from_static(b"unseen"));
            Ok(Outcome::of(Payload::Relayed { result, structured: None }))
        }
        .boxed()
    }
}

struct World {
    process: Process,
    scene: Scene,
}

impl World {
    async fn planning(enter: &str) -> World {
        let scene = Scene::new();
        let definition = crate::definition::definition(None, PLAN_MODE_TOOL, Effect::Writes);
        let tool = Arc::new(Planning(Definition { listing: Listing::Ours(&ABOUT), ..definition }));
        let store = Arc::new(SqliteStore::at(&scene.folder.path().join("state")));
        let process = scene.process_of(store, Catalog::new(vec![tool]), scene.folder.path());
        process.gate.govern(scene.ruleset(POLICY));
        let world = World { process, scene };
        assert_eq!(world.call(enter).await, "unseen");
        world
    }

    fn write(&self, plan: &str) {
        fs::write(self.scene.folder.path().join("plan.md"), plan).unwrap();
    }

    /// What comes of a call: what the tool gives, the question that it waits for, or why it fails.
    async fn call(&self, arguments: &str) -> String {
        let arguments = Some(Bytes::copy_from_slice(arguments.as_bytes()));
        match self.process.gate.call(&local(), Call::tool(PLAN_MODE_TOOL, arguments)).await {
            Ok(Outcome { payload: Payload::Relayed { result, .. }, .. }) => {
                String::from_utf8(result.to_vec()).unwrap()
            }
            Ok(other) => panic!("{:?}", other.payload),
            Err(Failure::Refused(Refusal::ApprovalPending(awaited))) => awaited.id.to_string(),
            Err(failure) => format!("{}: {failure}", failure.code()),
        }
    }

    fn plan_of(&self, id: &str) -> Option<String> {
        self.process.approval(id).report(now_ms()).plan
    }
}

const ENTER: &str = r#"{"action":"enter","plan_file":"plan.md"}"#;
const EXIT: &str = r#"{"action":"exit"}"#;

#[tokio::test]
async fn a_person_sees_the_plan_and_another_one_is_asked_about_anew() {
    let world = World::planning(ENTER).await;
    world.write("# One\n\u{1b}[2J");
    let first = world.call(EXIT).await;
    assert_eq!(world.plan_of(&first).as_deref(), Some("# One\n\\u001b[2J"));
    assert_eq!(world.call(EXIT).await, first, "one plan has one question");
    assert_eq!(world.process.answer(&first, &once(), &terminal()), "approved");
    world.write("# Two");
    let second = world.call(EXIT).await;
    assert_eq!(world.plan_of(&second).as_deref(), Some("# Two"));
    assert_eq!(world.process.answer(&second, &scope(Scope::Session), &terminal()), "approved");
    for _ in 0..2 {
        assert_eq!(world.call(EXIT).await, "# Two", "it is given what was seen");
    }
    world.write("# Three");
    assert_eq!(
        world.plan_of(&world.call(EXIT).await).as_deref(),
        Some("# Three"),
        "whatever was allowed for longer"
    );
}

#[tokio::test]
async fn nobody_is_asked_about_a_plan_that_cannot_be_shown() {
    let long = "x".repeat(PLAN_BYTES_MAX + 1);
    for (enter, plan, why) in [
        (ENTER, None, "plan.md"),
        (ENTER, Some(""), "plan.md is empty; write it there first"),
        (ENTER, Some(&*long), "plan.md has 65537 bytes, and 65536 are the most; shorten it"),
        (r#"{"action":"enter"}"#, Some("# Plan"), "say in `plan_file` where it is"),
    ] {
        let world = World::planning(enter).await;
        plan.into_iter().for_each(|plan| world.write(plan));
        let told = world.call(EXIT).await;
        assert!(told.starts_with("no_plan: a person must see the plan first, and cannot: "), "{told}");
        assert!(told.contains(why), "{told}");
    }
    let world = World::planning(r#"{"action":"status"}"#).await;
    assert_eq!(world.call(EXIT).await, "not_planning: not in plan mode, so there is no plan to leave with");
}

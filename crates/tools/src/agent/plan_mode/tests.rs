//! Plan mode entered and left. What it keeps from running is for the gate.

use expect_test::{Expect, expect};
use testkit::{KeptState, Workspace, call_noting};
use tool_api::builtin;

use super::*;

#[track_caller]
fn check(calls: &[&str], expected: Expect) {
    let workspace = Workspace::new("plan.md: # Plan\\n1. Look\\n\nempty.md:\n");
    let (tool, state) = (builtin(PlanMode), KeptState::default());
    let shown: String =
        calls.iter().map(|arguments| call_noting(&*tool, &workspace, &state, arguments)).collect();
    expected.assert_eq(&shown);
}

#[test]
fn a_plan_is_made() {
    check(
        &[
            r#"{"action": "status"}"#,
            r#"{"action": "enter", "goal": "Split it", "plan_file": "plan.md"}"#,
            r#"{"action": "status"}"#,
            r#"{"action": "json"}"#,
            r#"{"action": "exit"}"#,
            r#"{"action": "enter"}"#,
            r#"{"action": "exit", "plan_file": "/workspace/plan.md"}"#,
            r#"{"action": "enter"}"#,
            r#"{"action": "reset"}"#,
            r#"{"action": "reset"}"#,
        ],
        expect![[r##"
            text: Not in plan mode.¶
            structured: {"active":false}
            text: In plan mode: you can look and change nothing until `exit`. Only plan.md can be written; put the plan there.¶
            structured: {"active":true,"goal":"Split it","plan_file":"plan.md","started_at":"2023-11-14T12:00:00Z"}
            text: In plan mode since 2023-11-14T12:00:00Z for: Split it
            The plan is written to plan.md.¶
            structured: {"active":true,"goal":"Split it","plan_file":"plan.md","started_at":"2023-11-14T12:00:00Z"}
            text: In plan mode since 2023-11-14T12:00:00Z for: Split it
            The plan is written to plan.md.¶
            structured: {"active":true,"goal":"Split it","plan_file":"plan.md","started_at":"2023-11-14T12:00:00Z"}
            text: Plan mode is over. The plan in plan.md:

            # Plan
            1. Look
            structured: {"active":false,"plan_file":"plan.md","plan":"# Plan\n1. Look\n"}
            text: In plan mode: you can look and change nothing until `exit`. No file can be written; `enter` takes a `plan_file` that can.¶
            structured: {"active":true,"started_at":"2023-11-14T12:00:00Z"}
            text: Plan mode is over. The plan in plan.md:

            # Plan
            1. Look
            structured: {"active":false,"plan_file":"plan.md","plan":"# Plan\n1. Look\n"}
            text: In plan mode: you can look and change nothing until `exit`. No file can be written; `enter` takes a `plan_file` that can.¶
            structured: {"active":true,"started_at":"2023-11-14T12:00:00Z"}
            text: Not in plan mode.¶
            structured: {"active":false}
            text: Not in plan mode.¶
            structured: {"active":false}
        "##]],
    );
}

#[test]
fn no_plan_is_none() {
    check(
        &[
            r#"{"action": "exit"}"#,
            r#"{"action": "enter", "plan_file": "../plan.md"}"#,
            r#"{"action": "enter", "plan_file": "toolcrib.toml"}"#,
            r#"{"action": "enter", "plan_file": "."}"#,
            r#"{"action": "enter", "plan_file": ".git/plan.md"}"#,
            r#"{"action": "enter", "plan_file": "src"}"#,
            r#"{"action": "enter", "plan_file": "src/main.rs"}"#,
            r#"{"action": "enter", "goal": "x"}"#,
            r#"{"action": "enter"}"#,
            r#"{"action": "exit"}"#,
            r#"{"action": "exit", "plan_file": "none.md"}"#,
            r#"{"action": "exit", "plan_file": "empty.md"}"#,
            r#"{"action": "exit", "plan_file": "."}"#,
            r#"{"action": "leave"}"#,
        ],
        expect![[r#"
            error not_planning: not in plan mode, so there is no plan to leave with
            error outside_workspace: the path leads outside the workspace; give a path inside it, such as notes.md or /workspace/notes.md
            error not_a_plan: `plan_file` is toolcrib.toml, and a plan is a Markdown file: name one such as plan.md
            error not_a_file: `plan_file` is the workspace itself; name a file in it
            error protected: .git/plan.md decides what may be done or run here, so only a person may write it
            error not_a_plan: `plan_file` is src, and a plan is a Markdown file: name one such as plan.md
            error not_a_plan: `plan_file` is src/main.rs, and a plan is a Markdown file: name one such as plan.md
            text: In plan mode: you can look and change nothing until `exit`. No file can be written; `enter` takes a `plan_file` that can.¶
            structured: {"active":true,"goal":"x","started_at":"2023-11-14T12:00:00Z"}
            error already_planning: In plan mode since 2023-11-14T12:00:00Z for: x
            Leave it with `exit`, or with `reset` to begin anew
            error no_plan: say in `plan_file` where the plan is, or leave without one by `reset`
            error not_found: none.md does not exist
            error no_plan: empty.md is empty; write the plan there first
            error not_a_file: this is the workspace itself, which is a folder; name a file in it
            refused /action: "leave" is not one of "enter", "exit" or 3 other candidates
        "#]],
    );
}

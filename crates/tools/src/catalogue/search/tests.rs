use std::sync::Arc;

use expect_test::{Expect, expect};
use tool_api::{AnyTool, Definition};

use super::*;
use crate::offer::{Budgets, Set};

fn all() -> Vec<Definition> {
    let tools: Vec<Arc<dyn AnyTool>> = crate::all(&Set::ALL, Budgets::default());
    tools.iter().map(|tool| tool.definition().clone()).collect()
}

#[track_caller]
fn check(query: &str, limit: usize, expected: Expect) {
    let shown = found(&all(), query, limit);
    let names: Vec<&str> = shown.lines().map(|line| line.split('(').next().unwrap_or(line)).collect();
    expected.assert_eq(&names.join(" · "));
}

#[test]
fn the_best_come_first() {
    check(
        "write a file",
        2,
        expect!["workspace_write · PlanMode · 5 more; say more exactly what you want, or raise `limit`."],
    );
    check("plan", 1, expect!["PlanMode"]);
    check(
        "WORKSPACE files, LISTED",
        1,
        expect!["workspace_list · 7 more; say more exactly what you want, or raise `limit`."],
    );
    check("blockchain", 5, expect!["None of the 13 tools has to do with these words; try others, or fewer."]);
    check(
        " ",
        2,
        expect!["AskUserQuestion · PlanMode · 11 more; say more exactly what you want, or raise `limit`."],
    );
    check(
        "reading files",
        1,
        expect!["workspace_read · 8 more; say more exactly what you want, or raise `limit`."],
    );
    // It is no answer to what it is about.
    check("tools_search", 1, expect!["PlanMode · 3 more; say more exactly what you want, or raise `limit`."]);
}

#[test]
fn a_tool_is_shown_as_its_call_looks() {
    let shown = found(&all(), "TaskManager", 1);
    expect![[r#"
        TaskManager(action, query?, step_id?, task_id?, text?): Keep a list of tasks with steps, for work that takes more than a few calls: it is there in your next session. Create a task, add its steps, complete them as you go.
        1 more; say more exactly what you want, or raise `limit`."#]].assert_eq(&shown);
}

//! What is found for a few words. That a call of it passes the gate is for the end-to-end case `tool_search`.

use std::sync::Arc;

use tool_api::{AnyTool, Definition};

use super::*;
use crate::offer::{Budgets, Set};

fn all() -> Vec<Definition> {
    let tools: Vec<Arc<dyn AnyTool>> =
        crate::all(&Set::ALL, Budgets::default(), &crate::SearchSettings::default());
    tools.iter().map(|tool| tool.definition().clone()).collect()
}

/// Which tool comes first.
#[track_caller]
fn check(query: &str, expected: &str) {
    let shown = found(&all(), query, 1);
    let first = shown.split('(').next().unwrap_or(&shown);
    assert_eq!(first, expected, "{query}: {shown}");
}

#[test]
fn the_best_comes_first() {
    check("write a file", "workspace_write");
    check("plan", "PlanMode");
    check("WORKSPACE folders, LISTED", "workspace_list");
    check("reading files", "workspace_read");
    check("kill a background task", "KillBgTask");
    for (query, expected) in [
        ("shell", "Bash"),
        ("terminal", "Bash"),
        ("execute", "Bash"),
        ("run tests", "Bash"),
        ("grep", "workspace_search"),
        ("regex", "workspace_search"),
        ("ls", "workspace_list"),
        ("cat", "workspace_read"),
        ("todo", "TaskManager"),
        ("todo list", "TaskManager"),
        ("undo", "workspace_restore"),
        ("http", "ReadDocs"),
        ("timer", "SetCallback"),
        ("screenshot", "ReadImage"),
        ("rename", "workspace_move"),
        ("rename a file", "workspace_move"),
    ] {
        check(query, expected);
    }
    check(" ", "AskUserQuestion");
    let none = found(&all(), "blockchain", 5);
    assert!(none.ends_with("tools has to do with these words; try others, or fewer."), "{none}");
    // They are no answer to what they are for.
    let found = found(&all(), "tools_search tools_describe tools_call", 50);
    assert!(found.lines().all(|line| !line.starts_with("tools_")), "{found}");
}

#[test]
fn a_tool_is_shown_as_its_call_looks() {
    let shown = found(&all(), "TaskManager", 1);
    let begins = "TaskManager(action, query?, step_id?, task_id?, text?): Keep a list of tasks";
    assert!(shown.starts_with(begins), "{shown}");
    assert!(shown.ends_with(" more; say more exactly what you want, or raise `limit`."), "{shown}");
}

//! Tasks and their steps, call after call.

use expect_test::{Expect, expect};
use futures_util::future::{BoxFuture, join_all};
use testkit::{KeptState, Workspace, call_noting};
use tool_api::{Noted, State, Turn, builtin};

use super::*;

/// The calls one after the other, each with what is said to it.
#[track_caller]
fn check(calls: &[&str], expected: Expect) {
    let (tool, workspace, state) = (builtin(TaskManager), Workspace::new(""), KeptState::default());
    let shown = calls.iter().map(|arguments| {
        let shown = call_noting(&*tool, &workspace, &state, arguments);
        // The structure is the list, which the last call shows.
        let words: Vec<_> = shown.lines().filter(|line| !line.starts_with("structured")).collect();
        format!("{}\n", words.join("\n"))
    });
    expected.assert_eq(&shown.collect::<String>());
}

#[test]
fn tasks_have_steps() {
    check(
        &[
            r#"{"action": "list"}"#,
            r#"{"action": "create", "text": "Read  tabs\nand spaces"}"#,
            r#"{"action": "add", "text": "A test"}"#,
            r#"{"action": "add", "query": "The parser"}"#,
            // The seed's word for it.
            r#"{"action": "create", "query": "Release", "text": ""}"#,
            r#"{"action": "add", "task_id": 1, "text": "A changelog"}"#,
            r#"{"action": "complete", "task_id": 1, "step_id": 1}"#,
            r#"{"action": "pending", "query": ""}"#,
            r#"{"action": "switch", "task_id": 1}"#,
            r#"{"action": "pending"}"#,
            r#"{"action": "complete", "step_id": 2}"#,
            r#"{"action": "complete", "step_id": 3}"#,
            r#"{"action": "complete", "task_id": 1}"#,
            r#"{"action": "list"}"#,
        ],
        expect![[r#"
            text: No tasks.¶
            text: Task 1 is created, and the current one: Read tabs and spaces¶
            text: Step 1 is added to task 1: A test¶
            text: Step 2 is added to task 1: The parser¶
            text: Task 2 is created, and the current one: Release¶
            text: Step 3 is added to task 1: A changelog¶
            text: Step 1 of task 1 is done; 2 to go.¶
            text: - [ ] 2. Release (current)¶
            text: Task 1 is the current one: Read tabs and spaces¶
            text: - [ ] 1. Read tabs and spaces (current)
              - [ ] 2. The parser
              - [ ] 3. A changelog¶
            text: Step 2 of task 1 is done; 1 to go.¶
            text: Step 3 of task 1 is done, the last one; complete the task with `task_id` 1.¶
            text: Task 1 is done: Read tabs and spaces¶
            text: - [x] 1. Read tabs and spaces (current)
              - [x] 1. A test
              - [x] 2. The parser
              - [x] 3. A changelog
            - [ ] 2. Release¶
        "#]],
    );
}

#[test]
fn what_was_done_is_told_with_its_task_alone() {
    let (tool, workspace, state) = (builtin(TaskManager), Workspace::new(""), KeptState::default());
    let call = |arguments: &str| call_noting(&*tool, &workspace, &state, arguments);
    (0..30).for_each(|nth| drop(call(&format!(r#"{{"action": "create", "text": "Task {nth}"}}"#))));
    let shown = call(r#"{"action": "add", "task_id": 2, "text": "A step"}"#);
    expect![[r#"
        text: Step 1 is added to task 2: A step¶
        structured: {"done":"Step 1 is added to task 2: A step","current":30,"tasks":[{"id":2,"name":"Task 1","is_done":false,"steps":[{"id":1,"text":"A step","is_done":false}]}]}
    "#]].assert_eq(&shown);
    assert!(call(r#"{"action": "list"}"#).contains(r#""name":"Task 29""#));
}

/// Lets others go first between reading and changing.
struct SlowState(KeptState);

impl State for SlowState {
    fn read<'a>(&'a self, name: &'static str) -> BoxFuture<'a, Result<Option<Noted>, ToolError>> {
        Box::pin(async move {
            let noted = self.0.read(name).await;
            tokio::task::yield_now().await;
            noted
        })
    }

    fn replace<'a>(
        &'a self,
        name: &'static str,
        seen: Option<u64>,
        value: Option<Vec<u8>>,
    ) -> BoxFuture<'a, Result<bool, ToolError>> {
        self.0.replace(name, seen, value)
    }

    fn turn<'a>(&'a self, name: &'static str) -> BoxFuture<'a, Turn> {
        self.0.turn(name)
    }

    fn now_ms(&self) -> i64 {
        self.0.now_ms()
    }

    fn remind(&self, _: &'static str, _: Vec<i64>) {}

    fn later(&self, ms: i64) -> BoxFuture<'_, ()> {
        self.0.later(ms)
    }
}

#[tokio::test]
async fn callers_take_turns() {
    let state = SlowState(KeptState::default());
    let texts: Vec<String> = (0..40).map(|nth| format!("Task {nth}")).collect();
    let calls = texts.iter().map(|text| amend(&state, NAME, move |list: &mut TaskList| list.create(text)));
    let done = join_all(calls).await;
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    let list: TaskList = noted(&state, NAME).await.expect("it is kept");
    assert_eq!(list.to_string().lines().count(), texts.len());
}

#[test]
fn what_is_not_there_is_said() {
    let long = format!(r#"{{"action": "create", "text": "{}"}}"#, "x".repeat(1_001));
    check(
        &[
            r#"{"action": "add", "text": "A test"}"#,
            r#"{"action": "create", "text": " "}"#,
            &long,
            r#"{"action": "switch"}"#,
            r#"{"action": "switch", "task_id": 7}"#,
            r#"{"action": "create", "text": "One"}"#,
            r#"{"action": "complete"}"#,
            r#"{"action": "complete", "step_id": 1}"#,
            r#"{"action": "complete", "task_id": 2}"#,
            r#"{"action": "remove"}"#,
            r#"{"action": "pending", "task_id": -1}"#,
        ],
        expect![[r#"
            error task_not_found: there is no current task: create one, or say `task_id`
            error invalid_arguments: say in `text` what is to be done
            error invalid_arguments: the text has 1001 characters, and 1000 are the most
            error invalid_arguments: say which task in `task_id`
            error task_not_found: there is no task 7; there are: none
            text: Task 1 is created, and the current one: One¶
            error invalid_arguments: say what is completed: `step_id` for a step of the current task, `task_id` for a whole task
            error step_not_found: task 1 has no step 1; list shows them
            error task_not_found: there is no task 2; there are: 1
            refused /action: "remove" is not one of "create", "add" or 4 other candidates
            refused /task_id: -1 is less than the minimum of 0
        "#]],
    );
}

#[test]
fn there_are_not_too_many() {
    let mut list = TaskList::default();
    (0..200).for_each(|nth| drop(list.create(&format!("task {nth}")).expect("room")));
    assert_eq!(list.create("one more").expect_err("none").code(), "too_many_tasks");
    list.complete(Some(7), None).expect("it is there");
    list.create("one more").expect("the place of the one that is done");
    assert_eq!(list.switch(7).expect_err("it is gone").code(), "task_not_found");
    (0..100).for_each(|_| drop(list.add(None, "step").expect("room")));
    assert_eq!(list.add(None, "step").expect_err("none").code(), "too_many_steps");
}

use expect_test::{Expect, expect};
use testkit::{KeptState, Workspace, call_noting};
use tool_api::builtin;

use super::super::callback_wait::CallbackWait;
use super::*;

/// Calls of both tools: what begins with `wait` waits so many milliseconds. Time passes by waiting alone.
#[track_caller]
fn check(calls: &[&str], expected: Expect) {
    let (set, wait) = (builtin(SetCallback), builtin(CallbackWait));
    let (workspace, state) = (Workspace::new(""), KeptState::default());
    let shown = calls.iter().map(|call| match call.strip_prefix("wait ") {
        Some(ms) => {
            let arguments = format!("{{\"timeout_ms\": {ms}}}");
            call_noting(&*wait, &workspace, &state, &arguments)
        }
        None => call_noting(&*set, &workspace, &state, call),
    });
    expected.assert_eq(&shown.collect::<String>());
}

#[test]
fn messages_come_back() {
    check(
        &[
            r#"{"action": "list"}"#,
            r#"{"message": "build", "delay_seconds": 30, "repeat_count": 2}"#,
            r#"{"action": "set", "message": "server", "delay_seconds": 100, "repeat_count": -1}"#,
            r#"{"action": "list"}"#,
            "wait 12000",
            "wait 50000",
            r#"{"action": "list"}"#,
            "wait 50000",
            "wait 50000",
            r#"{"action": "list"}"#,
            r#"{"action": "cancel", "callback_id": 1}"#,
            "wait 50000",
        ],
        expect![[""]],
    );
}

#[test]
fn slots_are_few() {
    let one = r#"{"message": "x", "delay_seconds": 3600}"#;
    let mut calls = vec![one; 9];
    calls.extend([
        r#"{"action": "cancel", "callback_id": 3}"#,
        one,
        r#"{"action": "cancel"}"#,
        r#"{"action": "cancel"}"#,
    ]);
    check(&calls, expect![[""]]);
}

#[test]
fn what_cannot_be_set_is_said() {
    let long = format!(r#"{{"message": "{}", "delay_seconds": 5}}"#, "x".repeat(2_049));
    check(
        &[
            r#"{"message": "x", "delay_seconds": 0}"#,
            r#"{"message": "x", "delay_seconds": 3601}"#,
            r#"{"message": "x"}"#,
            r#"{"message": " ", "delay_seconds": 5}"#,
            r#"{"message": "x", "delay_seconds": 5, "repeat_count": -2}"#,
            &long,
            r#"{"action": "cancel", "callback_id": 7}"#,
            "wait 50001",
        ],
        expect![[""]],
    );
}

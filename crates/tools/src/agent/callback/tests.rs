//! Callbacks set, waited for and cancelled, in the words that users know.

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
        expect![[r#"
            text: No active callbacks.¶
            text: Callback scheduled: fires every 30s, repeats 2 times.¶
            text: It comes where you call callback_wait.¶
            text: Callback scheduled: fires every 100s, repeats infinitely.¶
            text: It comes where you call callback_wait.¶
            text: Active callbacks (2/8):
              [0] "build" - fires in 0m30s (2 left)
              [1] "server" - fires in 1m40s (infinite)¶
            text: Active callbacks (2/8):
              [0] "build" - fires in 0m18s (2 left)
              [1] "server" - fires in 1m28s (infinite)¶
            structured: {"fired":false,"waiting":"Active callbacks (2/8):\n  [0] \"build\" - fires in 0m18s (2 left)\n  [1] \"server\" - fires in 1m28s (infinite)"}
            text: build¶
            structured: {"fired":true,"callback_id":0,"message":"build","left":1}
            text: Active callbacks (2/8):
              [0] "build" - fires in 0m30s (1 left)
              [1] "server" - fires in 1m10s (infinite)¶
            text: build¶
            structured: {"fired":true,"callback_id":0,"message":"build","left":0}
            text: server¶
            structured: {"fired":true,"callback_id":1,"message":"server"}
            text: Active callbacks (1/8):
              [1] "server" - fires in 1m40s (infinite)¶
            text: Cancelled callback slot 1: "server"¶
            text: No active callbacks.¶
            structured: {"fired":false,"waiting":"No active callbacks."}
        "#]],
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
    check(
        &calls,
        expect![[r#"
        text: Callback scheduled: fires every 3600s, repeats 20 times.¶
        text: It comes where you call callback_wait.¶
        text: Callback scheduled: fires every 3600s, repeats 20 times.¶
        text: It comes where you call callback_wait.¶
        text: Callback scheduled: fires every 3600s, repeats 20 times.¶
        text: It comes where you call callback_wait.¶
        text: Callback scheduled: fires every 3600s, repeats 20 times.¶
        text: It comes where you call callback_wait.¶
        text: Callback scheduled: fires every 3600s, repeats 20 times.¶
        text: It comes where you call callback_wait.¶
        text: Callback scheduled: fires every 3600s, repeats 20 times.¶
        text: It comes where you call callback_wait.¶
        text: Callback scheduled: fires every 3600s, repeats 20 times.¶
        text: It comes where you call callback_wait.¶
        text: Callback scheduled: fires every 3600s, repeats 20 times.¶
        text: It comes where you call callback_wait.¶
        error callbacks_full: Error: all callback slots full (max 8)
        text: Cancelled callback slot 3: "x"¶
        text: Callback scheduled: fires every 3600s, repeats 20 times.¶
        text: It comes where you call callback_wait.¶
        text: Cancelled 8 callbacks.¶
        text: No active callbacks.¶
    "#]],
    );
}

#[test]
fn what_cannot_be_set_is_said() {
    check(
        &[
            r#"{"message": "x", "delay_seconds": 0}"#,
            r#"{"message": "x", "delay_seconds": 3601}"#,
            r#"{"message": "x"}"#,
            r#"{"message": " ", "delay_seconds": 5}"#,
            r#"{"message": "x", "delay_seconds": 5, "repeat_count": -2}"#,
            r#"{"action": "cancel", "callback_id": 7}"#,
            "wait 50001",
        ],
        expect![[r#"
            refused /delay_seconds: 0 is less than the minimum of 1
            refused /delay_seconds: 3601 is greater than the maximum of 3600
            error invalid_arguments: say in `message` what is to come, and in `delay_seconds` when
            error invalid_arguments: say in `message` what is to come
            refused /repeat_count: -2 is less than the minimum of -1
            error callback_not_found: there is no callback in slot 7; list shows them
            refused /timeout_ms: 50001 is greater than the maximum of 50000
        "#]],
    );
}

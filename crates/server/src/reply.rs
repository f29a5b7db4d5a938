//! From outcomes and failures to protocol. The only place where our errors become wire.

use gate::{Block, Outcome, Payload};
use gate::{Failure, Refusal};
use serde_json::{Value, json};
use wire::{Code, Id, Revision, WireError, tools, write};

/// The member of `_meta` that holds the structured error object of a failed call.
const ERROR_KEY: &str = "toolcrib/error";

/// Room for an answer beyond its content, in bytes.
const FRAME_BYTES: usize = 256;

/// Writes the answer to a call.
pub(crate) fn call(revision: Revision, id: &Id, result: Result<Outcome, Failure>) -> Vec<u8> {
    let bytes = result.as_ref().map_or(0, |outcome| outcome.payload.bytes());
    let mut out = Vec::with_capacity(bytes + bytes / 16 + FRAME_BYTES);
    match result {
        Ok(outcome) => write::result_by(&mut out, id, |out| outcome_text(out, revision, &outcome)),
        Err(failure) => match answer(&failure) {
            Answer::Protocol(error) => write::error(&mut out, Some(id), &error),
            Answer::Result { details } => {
                write::result_by(&mut out, id, |out| failed(out, revision, &failure, details));
            }
        },
    }
    out
}

/// The result object that a client of `revision` gets for an outcome, as JSON text.
pub fn outcome_json(revision: Revision, outcome: &Outcome) -> Vec<u8> {
    let mut out = Vec::new();
    outcome_text(&mut out, revision, outcome);
    out
}

fn outcome_text(out: &mut Vec<u8>, revision: Revision, outcome: &Outcome) {
    match &outcome.payload {
        Payload::Relayed { result, .. } => out.extend_from_slice(result),
        Payload::Ours { blocks, structured } => {
            let structured = structured.as_deref().and_then(|text| std::str::from_utf8(text).ok());
            let blocks = blocks.iter().map(block);
            tools::write_call_result(out, revision, blocks, structured, outcome.is_error, None);
        }
    }
}

fn block(block: &Block) -> tools::Block<'_> {
    match block {
        Block::Text(text) => tools::Block::Text(text),
        Block::Image { mime, bytes } => tools::Block::Image { mime, bytes },
        Block::Audio { mime, bytes } => tools::Block::Audio { mime, bytes },
        Block::Blob { uri, mime, bytes } => tools::Block::Blob { uri, mime, bytes },
    }
}

/// How a failure is told.
enum Answer {
    /// As a JSON-RPC error: the request itself was wrong, or we are.
    Protocol(WireError),
    /// As the result of a tool that failed, so that the model sees it and can act on it.
    Result {
        /// Facts for programs.
        details: Option<Value>,
    },
}

/// Which failure is told how. Every kind is decided here.
fn answer(failure: &Failure) -> Answer {
    match failure {
        Failure::Refused(refusal) => match refusal {
            Refusal::UnknownTool(name) => {
                Answer::Protocol(WireError::new(Code::InvalidParams, format!("Unknown tool: {name}")))
            }
            Refusal::RateLimited { retry_after_ms } => {
                let data = json!({ "retry_after_ms": retry_after_ms }).to_string();
                Answer::Protocol(WireError::new(Code::RateLimited, refusal.to_string()).with_data(data))
            }
            Refusal::InvalidArguments { violations, .. } => {
                Answer::Result { details: Some(json!({ "violations": violations })) }
            }
            Refusal::Denied { rule, .. } => Answer::Result { details: Some(json!({ "rule": rule })) },
            Refusal::NeedsApproval { rule, setting, .. } => {
                Answer::Result { details: Some(json!({ "rule": rule, "setting": setting })) }
            }
            Refusal::UnusableSchema { .. } | Refusal::NoBook(_) => Answer::Result { details: None },
        },
        Failure::Tool(error) => Answer::Result { details: error.details().cloned() },
        Failure::Internal(internal) => {
            let data = json!({ "call": internal.call.to_string() }).to_string();
            Answer::Protocol(WireError::new(Code::InternalError, internal.to_string()).with_data(data))
        }
    }
}

fn failed(out: &mut Vec<u8>, revision: Revision, failure: &Failure, details: Option<Value>) {
    let text = failure.to_string();
    let mut error = json!({ "code": failure.code(), "message": text });
    if let Some(details) = details {
        error["details"] = details;
    }
    let meta = json!({ ERROR_KEY: error }).to_string();
    let blocks = std::iter::once(tools::Block::Text(&text));
    tools::write_call_result(out, revision, blocks, None, true, Some(&meta));
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use gate::ToolError;
    use gate::schema::Violation;

    use super::*;

    #[track_caller]
    fn check(result: Result<Outcome, Failure>, expected: Expect) {
        let written = call(Revision::LATEST, &Id::number(1), result);
        expected.assert_eq(&String::from_utf8(written).expect("UTF-8"));
    }

    fn refused(refusal: Refusal) -> Result<Outcome, Failure> {
        Err(Failure::Refused(refusal))
    }

    #[test]
    fn a_wrong_request_is_a_protocol_error() {
        check(
            refused(Refusal::UnknownTool("x\"y".into())),
            expect![[r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: x\"y"}}"#]],
        );
        check(
            refused(Refusal::RateLimited { retry_after_ms: 90 }),
            expect![[
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Rate limit exceeded. Please try again later.","data":{"retry_after_ms":90}}}"#
            ]],
        );
    }

    #[test]
    fn what_a_model_can_repair_is_a_tool_result() {
        let violations = vec![Violation {
            pointer: "/limit".into(),
            expected: "integer".into(),
            found: "string \"a\"".into(),
        }];
        check(
            refused(Refusal::InvalidArguments { tool: "t".into(), violations }),
            expect![[
                r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"the arguments do not fit `t`:\n- /limit: expected integer, got string \"a\""}],"_meta":{"toolcrib/error":{"code":"invalid_arguments","details":{"violations":[{"expected":"integer","found":"string \"a\"","pointer":"/limit"}]},"message":"the arguments do not fit `t`:\n- /limit: expected integer, got string \"a\""}},"isError":true}}"#
            ]],
        );
        check(
            refused(Refusal::NeedsApproval {
                tool: "t".into(),
                rule: "r",
                why: "is marked",
                setting: "policy.allow",
            }),
            expect![[
                r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`t` is marked, so a person must allow it first: add \"t\" to `policy.allow` in the configuration, then call again"}],"_meta":{"toolcrib/error":{"code":"approval_required","details":{"rule":"r","setting":"policy.allow"},"message":"`t` is marked, so a person must allow it first: add \"t\" to `policy.allow` in the configuration, then call again"}},"isError":true}}"#
            ]],
        );
        check(
            Err(Failure::Tool(ToolError::new("not_found", "there is no file a.txt"))),
            expect![[
                r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"there is no file a.txt"}],"_meta":{"toolcrib/error":{"code":"not_found","message":"there is no file a.txt"}},"isError":true}}"#
            ]],
        );
    }

    #[test]
    fn a_relayed_result_keeps_its_bytes() {
        let result: &[u8] = br#"{ "content":[ ],"x":1.0,"_meta":{"y":1e3} }"#;
        let payload = Payload::Relayed { result: bytes::Bytes::from_static(result), structured: None };
        check(
            Ok(Outcome { payload, is_error: false }),
            expect![[r#"{"jsonrpc":"2.0","id":1,"result":{ "content":[ ],"x":1.0,"_meta":{"y":1e3} }}"#]],
        );
    }
}

//! From outcomes and failures to protocol. The only place where our errors become wire.

mod artifacts;
mod dry_run;
mod facts;
mod failure;
mod modern;
mod our_meta;
mod sandbox;
mod task;

use bytes::Bytes;
use gate::{Block, Failure, Outcome, Payload};
use wire::message::Text;
use wire::{ByteString, Id, Revision, completion, reduce, resources, tools, write};

use crate::ourselves::OUR_META;
use crate::outgoing::Reply;
pub(crate) use facts::{About, RequestFacts};
pub(crate) use failure::protocol_error;
use modern::{input_required, mark_complete, under_token, write_modern};
pub(crate) use task::{Told, begun, finished, goes_on, handle, payload, task};

/// Room for an answer beyond its content, in bytes.
const FRAME_BYTES: usize = 256;

/// Writes the answer to a call.
pub(crate) fn answer(facts: &RequestFacts, id: &Id, result: Result<Outcome, Failure>) -> Reply {
    let bytes = result.as_ref().map_or(0, |outcome| outcome.payload.bytes());
    let mut frame = Vec::with_capacity(bytes + bytes / 16 + FRAME_BYTES);
    let mut code = None;
    match result {
        Ok(outcome) => write::result_by(&mut frame, id, |out| outcome_text(out, facts, &outcome)),
        Err(failure) => match failure::answer(facts, &failure) {
            Err(error) => {
                code = Some(error.code);
                write::error(&mut frame, Some(id), &error);
            }
            Ok(details) => write::result_by(&mut frame, id, |out| {
                let start = out.len();
                failure::write_result(out, facts.revision, &failure, details);
                sandbox::add(out, start, failure.sandboxed());
            }),
        },
    }
    Reply { frame, code }
}

/// The result object that a client of `revision` gets for the outcome of a tool, as JSON text.
pub fn outcome_json(revision: Revision, outcome: &Outcome) -> Vec<u8> {
    let mut out = Vec::new();
    let about = About::Tool(ByteString::new());
    outcome_text(&mut out, &RequestFacts { revision, about, has_state: false }, outcome);
    out
}

fn outcome_text(out: &mut Vec<u8>, facts: &RequestFacts, outcome: &Outcome) {
    let start = out.len();
    payload_text(out, facts, outcome);
    sandbox::add(out, start, outcome.sandboxed.as_deref());
    dry_run::add(out, start, outcome.planned.as_deref());
    artifacts::add(out, start, matches!(facts.about, About::Task(..)), &outcome.artifacts);
}

fn payload_text(out: &mut Vec<u8>, facts: &RequestFacts, outcome: &Outcome) {
    match &outcome.payload {
        Payload::Ours { blocks, .. } if matches!(facts.about, About::Resource(..)) => {
            resource(out, facts.revision, blocks);
        }
        Payload::Ours { blocks, structured } => {
            let structured = structured.as_deref().and_then(|text| std::str::from_utf8(text).ok());
            let blocks = blocks.iter().map(block);
            let our_meta = facts.revision.is_modern().then(|| OUR_META.as_str());
            tools::write_call_result(out, facts.revision, blocks, structured, outcome.is_error, our_meta);
            mark_complete(out, facts.revision);
        }
        Payload::Relayed { result, .. } => relayed(out, facts, result),
        Payload::InputRequired { requests, state, .. } => {
            input_required(out, requests.as_deref(), state.as_deref());
        }
        Payload::Task { result, id } => match text(result).and_then(|result| under_token(&result, id)) {
            Some(result) => write_modern(out, &result),
            None => out.extend_from_slice(result),
        },
    }
}

/// A resource of ours.
fn resource(out: &mut Vec<u8>, revision: Revision, blocks: &[Block]) {
    let mut read = Vec::new();
    if let [Block::Blob { uri, mime, bytes }] = blocks {
        let text = std::str::from_utf8(bytes).ok().filter(|_| gate::is_text(mime));
        let contents = text.map_or(resources::Contents::Blob(bytes), resources::Contents::Text);
        resources::write_read_result(&mut read, uri, mime, contents);
    }
    match std::str::from_utf8(&read) {
        Ok(read) if revision.is_modern() => write_modern(out, read),
        Ok(_) | Err(_) => out.extend_from_slice(&read),
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

fn text(bytes: &Bytes) -> Option<Text> {
    Text::known(bytes.clone())
}

/// A result of an upstream, as the client's revision knows it.
fn relayed(out: &mut Vec<u8>, facts: &RequestFacts, result: &Bytes) {
    let Some(known) = text(result) else { return out.extend_from_slice(result) };
    let revision = facts.revision;
    let fitting = match &facts.about {
        // What only a modern result has is added as it is written.
        About::Tool(_) | About::Prompt(_) | About::Completion(_) if revision.is_modern() => known,
        About::Extension(_) => known,
        About::Tool(_) => reduce::call_result(revision, &known),
        About::Prompt(_) => reduce::prompt_result(revision, &known),
        About::Resource(..) => reduce::read_result(revision, &known),
        About::Completion(_) => reduce::complete_result(revision, &known),
        About::Task(_, token) => match under_token(&known, token) {
            Some(result) => return write_modern(out, &result),
            None => known,
        },
    };
    if revision.is_modern() {
        write_modern(out, fitting.as_str());
    } else {
        out.extend_from_slice(fitting.as_str().as_bytes());
    }
}

/// The answer to a completion that nobody can give.
pub(crate) fn no_completions(facts: &RequestFacts, id: &Id) -> Reply {
    let mut result = Vec::with_capacity(64);
    completion::write_empty_result(&mut result);
    let mut frame = Vec::with_capacity(FRAME_BYTES);
    write::result_by(&mut frame, id, |out| relayed(out, facts, &result.into()));
    Reply { frame, code: None }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use gate::schema::Violation;
    use gate::{Protocol, Refusal, Ruling, Sandboxed, ToolError};

    use super::*;

    #[track_caller]
    fn check(result: Result<Outcome, Failure>, expected: Expect) {
        let facts = RequestFacts {
            revision: Revision::LATEST_LEGACY,
            about: About::Tool("t".into()),
            has_state: false,
        };
        let reply = answer(&facts, &Id::number(1), result);
        expected.assert_eq(&String::from_utf8(reply.frame).expect("UTF-8"));
    }

    /// The error that a request about something else than a tool gets, in both eras.
    #[track_caller]
    fn check_error(about: About, failure: &Failure, expected: Expect) {
        let told = [Revision::LATEST_LEGACY, Revision::MODERN].map(|revision| {
            let facts = RequestFacts { revision, about: about.clone(), has_state: false };
            let error = protocol_error(&facts, failure);
            let data = error.data.map(|data| format!(" {data}")).unwrap_or_default();
            format!("{} {}{data}\n", error.code.number(), error.message)
        });
        expected.assert_eq(&told.concat());
    }

    #[test]
    fn without_a_place_for_failed_tools_everything_is_an_error() {
        let violations =
            vec![Violation { pointer: "/a".into(), expected: "integer".into(), found: "null".into() }];
        let invalid = Refusal::InvalidArguments { tool: "t".into(), violations };
        let denied = Refusal::Denied(Ruling {
            tool: "t".into(),
            rule: "policy.deny".into(),
            why: "is refused".into(),
        });
        let unsupported = Refusal::Unsupported { upstream: "u".into(), action: "resources_subscribe" };
        for (refusal, expected) in [
            (
                invalid,
                expect![[r#"
                -32602 Invalid params: the arguments do not fit `t`:
                - /a: expected integer, got null {"violations":[{"expected":"integer","found":"null","pointer":"/a"}]}
                -32602 Invalid params: the arguments do not fit `t`:
                - /a: expected integer, got null {"violations":[{"expected":"integer","found":"null","pointer":"/a"}]}
            "#]],
            ),
            (
                denied,
                expect![[r#"
                -32602 Invalid params: refused by policy: `t` is refused (rule policy.deny) {"rule":"policy.deny"}
                -32602 Invalid params: refused by policy: `t` is refused (rule policy.deny) {"rule":"policy.deny"}
            "#]],
            ),
            (
                unsupported,
                expect![[r#"
                -32602 Invalid params: `u` does not support resources_subscribe
                -32602 Invalid params: `u` does not support resources_subscribe
            "#]],
            ),
            (
                Refusal::UnknownTask,
                expect![[r#"
                -32602 Invalid params: unknown task; it may have ended, or belong to somebody else
                -32602 Invalid params: unknown task; it may have ended, or belong to somebody else
            "#]],
            ),
            (
                Refusal::NoAuditLog("full".into()),
                expect![[r#"
                -32603 the audit log cannot be written, so no call runs: full
                -32603 the audit log cannot be written, so no call runs: full
            "#]],
            ),
        ] {
            check_error(About::Task(gate::Action::GetTask, "x".into()), &refusal.into(), expected);
        }
    }

    #[test]
    fn an_upstreams_code_fits_the_era_of_the_client() {
        let failure = |code: i64, data: Option<&str>| {
            let protocol = Protocol { code, message: "m".into(), data: data.map(str::to_owned) };
            Failure::Tool(ToolError::new("upstream_error", "u").with_protocol(protocol))
        };
        let resource = || About::Resource(gate::Action::ReadResource, "our:x".into());
        let theirs = Some(r#"{"uri":"their:x"}"#);
        for code in ["artifact_not_found", "not_found"] {
            check_error(
                resource(),
                &ToolError::new(code, "it is over").into(),
                expect![[r#"
                -32002 it is over {"uri":"our:x"}
                -32602 it is over {"uri":"our:x"}
            "#]],
            );
        }
        check_error(
            resource(),
            &failure(-32002, None),
            expect![[r#"
            -32002 m {"uri":"our:x"}
            -32602 m {"uri":"our:x"}
        "#]],
        );
        check_error(
            resource(),
            &failure(-32602, theirs),
            expect![[r#"
            -32002 m {"uri":"our:x"}
            -32602 m {"uri":"our:x"}
        "#]],
        );
        check_error(
            resource(),
            &failure(-32602, None),
            expect![[r#"
            -32602 m
            -32602 m
        "#]],
        );
        check_error(
            About::Prompt("p".into()),
            &failure(-32002, theirs),
            expect![[r#"
            -32002 m {"uri":"their:x"}
            -32602 m {"uri":"their:x"}
        "#]],
        );
        check_error(
            About::Prompt("p".into()),
            &failure(-32021, Some("{}")),
            expect![[r#"
            -32021 m {}
            -32021 m {}
        "#]],
        );
        check_error(
            About::Prompt("p".into()),
            &failure(-32022, None),
            expect![[r#"
            -32603 m
            -32603 m
        "#]],
        );
        check_error(
            About::Prompt("p".into()),
            &failure(7, Some("[1]")),
            expect![[r#"
            7 m [1]
            7 m [1]
        "#]],
        );
        let plain = Failure::Tool(ToolError::new("timeout", "too slow"));
        check_error(
            About::Completion(completion::Reference::Prompt("p".into())),
            &plain,
            expect![[r#"
            -32603 too slow {"code":"timeout"}
            -32603 too slow {"code":"timeout"}
        "#]],
        );
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
            refused(Refusal::RateLimited { retry_after_ms: 90, limit: "limits.rate".into() }),
            expect![[
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Rate limit exceeded. Please try again later.","data":{"limit":"limits.rate","retry_after_ms":90}}}"#
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
            refused(Refusal::NeedsApproval(Ruling {
                tool: "t".into(),
                rule: "r".into(),
                why: "is marked".into(),
            })),
            expect![[
                r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`t` is marked (rule r), so a person must allow it first, and nobody may be asked; go on without it"}],"_meta":{"toolcrib/error":{"code":"approval_required","details":{"rule":"r"},"message":"`t` is marked (rule r), so a person must allow it first, and nobody may be asked; go on without it"}},"isError":true}}"#
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
    fn a_result_says_how_its_programs_ran() {
        let sandboxed =
            || Some(Box::new(Sandboxed { profile: "write", launcher: "own", degraded: vec!["landlock"] }));
        let payload = Payload::Ours { blocks: vec![Block::Text("x".into())], structured: None };
        check(
            Ok(Outcome { sandboxed: sandboxed(), ..Outcome::of(payload) }),
            expect![[
                r#"{"jsonrpc":"2.0","id":1,"result":{"_meta":{"toolcrib/sandbox":{"degraded":["landlock"],"profile":"write"}},"content":[{"type":"text","text":"x"}],"isError":false}}"#
            ]],
        );
        check(
            Err(ToolError::new("timeout", "slow").with_sandboxed(sandboxed()).into()),
            expect![[
                r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"slow"}],"_meta":{"toolcrib/sandbox":{"degraded":["landlock"],"profile":"write"},"toolcrib/error":{"code":"timeout","message":"slow"}},"isError":true}}"#
            ]],
        );
    }

    #[test]
    fn a_relayed_result_keeps_its_bytes() {
        let result: &[u8] = br#"{ "content":[ ],"x":1.0,"_meta":{"y":1e3} }"#;
        let payload = Payload::Relayed { result: bytes::Bytes::from_static(result), structured: None };
        check(
            Ok(Outcome::of(payload)),
            expect![[r#"{"jsonrpc":"2.0","id":1,"result":{ "content":[ ],"x":1.0,"_meta":{"y":1e3} }}"#]],
        );
    }
}

//! What came of a call, as bytes that outlive the process, for whoever sends the same request again. Jobs keep less of a failure
//! ([`crate::jobs::StoredFailure`]): they are asked for it under any revision, and by people.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool_api::{Outcome, Payload, ToolError};

use crate::failure::{Failure, Refusal, Ruling};
use crate::kept_outcome::{KeptOutcome, KeptProtocol};

#[derive(Serialize, Deserialize)]
enum Kept {
    Outcome(KeptOutcome),
    Tool {
        code: String,
        message: String,
        details: Option<Value>,
        protocol: Option<KeptProtocol>,
        tells: bool,
    },
    /// An AI rule has withheld the result.
    Blocked {
        tool: String,
        rule: Arc<str>,
        why: Arc<str>,
    },
}

/// Writes what came of a call; nothing if that is longer than `bytes_max`, or is none of what is kept.
pub(crate) fn write(result: &Result<Outcome, Failure>, bytes_max: usize) -> Option<Vec<u8>> {
    // Before anything is copied.
    if result.as_ref().is_ok_and(|outcome| outcome.payload.bytes() > bytes_max) {
        return None;
    }
    let text = serde_json::to_vec(&Kept::of(result)?).ok()?;
    (text.len() <= bytes_max).then_some(text)
}

/// Reads what [`write`] has written.
pub(crate) fn read(text: &[u8]) -> Option<Result<Outcome, Failure>> {
    serde_json::from_slice::<Kept>(text).ok()?.result()
}

impl Kept {
    fn of(result: &Result<Outcome, Failure>) -> Option<Kept> {
        Some(match result {
            Ok(Outcome { payload: Payload::InputRequired { .. }, .. }) => return None,
            Ok(outcome) => Kept::Outcome(KeptOutcome::of(outcome)),
            Err(Failure::Tool(error)) => Kept::Tool {
                code: error.code().to_string(),
                message: error.to_string(),
                details: error.details().cloned(),
                protocol: error.protocol().map(KeptProtocol::from),
                tells: error.is_protocol_told(),
            },
            Err(Failure::Refused(Refusal::RuleBlocked(Ruling { tool, rule, why }))) => {
                Kept::Blocked { tool: tool.clone(), rule: rule.clone(), why: why.clone() }
            }
            Err(Failure::Refused(_) | Failure::Internal(_)) => return None,
        })
    }

    fn result(self) -> Option<Result<Outcome, Failure>> {
        Some(match self {
            Kept::Outcome(outcome) => Ok(outcome.opened()?),
            Kept::Tool { code, message, details, protocol, tells } => {
                let mut error = ToolError::new(code, message);
                if let Some(details) = details {
                    error = error.with_details(details);
                }
                if let Some(protocol) = protocol {
                    error = error.with_protocol(protocol.into());
                }
                Err(if tells { error.telling_protocol() } else { error }.into())
            }
            Kept::Blocked { tool, rule, why } => Err(Refusal::RuleBlocked(Ruling { tool, rule, why }).into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::json;
    use tool_api::{Artifact, Block, Planned, Protocol, Sandboxed};

    use super::*;

    #[test]
    fn what_came_of_a_call_is_read_as_it_was_written() {
        let relayed = Payload::Relayed { result: Bytes::from_static(b"{\"x\":1.0}"), structured: None };
        let blocks = vec![
            Block::Text("é".into()),
            Block::Image { mime: "image/png".into(), bytes: vec![0, 255] },
            Block::Audio { mime: "audio/wav".into(), bytes: vec![1] },
            Block::Blob { uri: "file:///a".into(), mime: "a/b".into(), bytes: vec![] },
        ];
        let ours = Payload::Ours { blocks, structured: Some(Bytes::from_static(b"{\"n\":1.50}")) };
        let protocol = Protocol { code: -32602, message: "m".into(), data: Some("[1]".into()) };
        let error = ToolError::new("timeout", "slow").with_details(json!({ "a": 1 }));
        let planned = Planned {
            plan_hash: "ab".into(),
            changes: vec![("a".into(), "added"), ("b".into(), "changed"), ("c".into(), "removed")],
            is_cut: true,
            diff: String::new(),
        };
        let sandboxed =
            |profile| Sandboxed { profile, launcher: "bwrap", degraded: vec!["landlock", "memory"] };
        let artifact = Artifact {
            id: "i".into(),
            name: "n".into(),
            media_type: "m".into(),
            bytes: 1,
            lines: 2,
            sha256: "s".into(),
        };
        for result in [
            Ok(Outcome { artifacts: vec![artifact], ..Outcome::of(relayed.clone()) }),
            Ok(Outcome { planned: Some(Box::new(planned)), ..Outcome::of(relayed.clone()) }),
            Ok(Outcome { sandboxed: Some(Box::new(sandboxed("write"))), ..Outcome::of(relayed.clone()) }),
            Ok(Outcome { sandboxed: Some(Box::new(sandboxed("upstream"))), ..Outcome::of(relayed.clone()) }),
            Ok(Outcome { is_error: true, ..Outcome::of(relayed) }),
            Ok(Outcome::of(ours)),
            Ok(Outcome::of(Payload::Task { result: Bytes::from_static(b"{}"), id: "t".into() })),
            Err(error.into()),
            Err(ToolError::new("upstream_error", "u").with_protocol(protocol).telling_protocol().into()),
            Err(Refusal::RuleBlocked(Ruling { tool: "t".into(), rule: "r".into(), why: "w".into() }).into()),
        ] {
            let text = write(&result, 1_000).expect("it is kept");
            let again = read(&text).expect("it is read");
            assert_eq!(format!("{again:?}"), format!("{result:?}"));
            assert_eq!(write(&result, text.len() - 1), None, "too long");
        }
        // As an earlier release has kept one.
        let old =
            br#"{"Outcome":{"payload":{"relayed":{"result":"{}","structured":null}},"is_error":false}}"#;
        assert!(read(old).is_some_and(|result| result.is_ok()));
        assert!(read(b"{}").is_none() && read(b"").is_none());
    }
}

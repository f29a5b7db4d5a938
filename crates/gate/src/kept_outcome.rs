//! What a tool gave, and an error of the protocol, as text that outlives the process: whoever asks again is answered as whoever
//! waited. What is private to operators is let go.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tool_api::{Outcome, Payload, Protocol};

use crate::kept_block::KeptBlock;
use crate::kept_facts::{KeptArtifact, KeptPlan, KeptSandbox};

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct KeptOutcome {
    payload: KeptPayload,
    is_error: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    planned: Option<KeptPlan>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sandboxed: Option<KeptSandbox>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<KeptArtifact>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptPayload {
    Ours { blocks: Vec<KeptBlock>, structured: Option<String> },
    Relayed { result: String, structured: Option<String> },
    InputRequired { requests: Option<String>, state: Option<String> },
    Task { result: String, id: Arc<str> },
}

impl KeptOutcome {
    pub(crate) fn of(outcome: &Outcome) -> KeptOutcome {
        let payload = match &outcome.payload {
            Payload::Ours { blocks, structured } => KeptPayload::Ours {
                blocks: blocks.iter().map(KeptBlock::of).collect(),
                structured: structured.as_ref().map(text),
            },
            Payload::Relayed { result, structured } => {
                KeptPayload::Relayed { result: text(result), structured: structured.as_ref().map(text) }
            }
            Payload::InputRequired { requests, state, .. } => KeptPayload::InputRequired {
                requests: requests.as_ref().map(text),
                state: state.as_deref().map(str::to_owned),
            },
            Payload::Task { result, id } => KeptPayload::Task { result: text(result), id: id.clone() },
        };
        KeptOutcome {
            payload,
            is_error: outcome.is_error,
            planned: outcome.planned.as_deref().map(KeptPlan::of),
            sandboxed: outcome.sandboxed.as_deref().map(KeptSandbox::of),
            artifacts: outcome.artifacts.iter().map(KeptArtifact::of).collect(),
        }
    }

    /// Nothing if it is not as it was kept.
    pub(crate) fn opened(self) -> Option<Outcome> {
        let payload = match self.payload {
            KeptPayload::Ours { blocks, structured } => Payload::Ours {
                blocks: blocks.into_iter().map(KeptBlock::opened).collect::<Option<_>>()?,
                structured: structured.map(Bytes::from),
            },
            KeptPayload::Relayed { result, structured } => {
                Payload::Relayed { result: result.into(), structured: structured.map(Bytes::from) }
            }
            KeptPayload::InputRequired { requests, state } => Payload::InputRequired {
                requests: requests.map(Bytes::from),
                state: state.map(Into::into),
                hold: None,
            },
            KeptPayload::Task { result, id } => Payload::Task { result: result.into(), id },
        };
        Some(Outcome {
            payload,
            is_error: self.is_error,
            sandboxed: self.sandboxed.and_then(KeptSandbox::opened).map(Box::new),
            planned: self.planned.map(|planned| Box::new(planned.opened())),
            artifacts: self.artifacts.into_iter().map(KeptArtifact::opened).collect(),
        })
    }
}

/// An error of the protocol, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptProtocol {
    code: i64,
    message: String,
    data: Option<String>,
}

impl From<&Protocol> for KeptProtocol {
    fn from(Protocol { code, message, data }: &Protocol) -> KeptProtocol {
        KeptProtocol { code: *code, message: message.clone(), data: data.clone() }
    }
}

impl From<KeptProtocol> for Protocol {
    fn from(KeptProtocol { code, message, data }: KeptProtocol) -> Protocol {
        Protocol { code, message, data }
    }
}

/// It is JSON, and so it is text.
fn text(bytes: &Bytes) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

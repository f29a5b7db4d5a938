//! What came of a job, as it is kept.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool_api::{Outcome, Payload, Protocol, ToolError};

use crate::failure::{Failure, Refusal};
use crate::kept_block::KeptBlock;

/// Why a job has no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct StoredFailure {
    /// The stable code.
    pub code: String,
    /// The sentence for the caller.
    pub message: String,
    /// Facts for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Whether the gate did not let it run.
    #[serde(default)]
    pub is_refused: bool,
    /// The error of the protocol that stands behind it, where the caller of the tool is told that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Box<ToldProtocol>>,
}

/// An error of the protocol, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldProtocol {
    code: i64,
    message: String,
    data: Option<String>,
}

impl ToldProtocol {
    fn of(error: &ToolError) -> Option<ToldProtocol> {
        let Protocol { code, message, data } = error.protocol().filter(|_| error.is_protocol_told())?.clone();
        Some(ToldProtocol { code, message, data })
    }

    fn told(self, error: ToolError) -> ToolError {
        let ToldProtocol { code, message, data } = self;
        error.with_protocol(Protocol { code, message, data }).telling_protocol()
    }
}

impl StoredFailure {
    pub(super) fn new(code: &str, message: impl Into<String>) -> StoredFailure {
        let (code, message) = (code.to_owned(), message.into());
        StoredFailure { code, message, details: None, is_refused: false, protocol: None }
    }

    pub(super) fn of(failure: &Failure) -> StoredFailure {
        let (details, protocol) = match failure {
            Failure::Tool(error) => (error.details().cloned(), ToldProtocol::of(error).map(Box::new)),
            Failure::Refused(_) | Failure::Internal(_) => (None, None),
        };
        let is_refused = matches!(failure, Failure::Refused(_));
        StoredFailure {
            details,
            is_refused,
            protocol,
            ..StoredFailure::new(failure.code(), failure.to_string())
        }
    }
}

impl From<&Refusal> for StoredFailure {
    fn from(refusal: &Refusal) -> StoredFailure {
        StoredFailure { is_refused: true, ..StoredFailure::new(refusal.code(), refusal.to_string()) }
    }
}

/// As the failure of a tool, which models are told with its code.
impl From<StoredFailure> for Failure {
    fn from(stored: StoredFailure) -> Failure {
        let error = ToolError::new(stored.code, stored.message);
        let error = match stored.details {
            Some(details) => error.with_details(details),
            None => error,
        };
        Failure::Tool(match stored.protocol {
            Some(protocol) => protocol.told(error),
            None => error,
        })
    }
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeptResult {
    Outcome(KeptOutcome),
    Failure(StoredFailure),
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct KeptOutcome {
    payload: KeptPayload,
    is_error: bool,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptPayload {
    Ours { blocks: Vec<KeptBlock>, structured: Option<String> },
    Relayed { result: String, structured: Option<String> },
    InputRequired { requests: Option<String>, state: Option<String> },
}

impl KeptResult {
    pub(super) fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a result has text for keys")
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<KeptResult> {
        serde_json::from_slice(bytes).ok()
    }

    pub(super) fn opened(self) -> Result<Outcome, StoredFailure> {
        match self {
            KeptResult::Outcome(outcome) => outcome.opened(),
            KeptResult::Failure(failure) => Err(failure),
        }
    }
}

impl KeptOutcome {
    /// Nothing of one that goes on elsewhere.
    pub(super) fn of(outcome: &Outcome) -> Option<KeptOutcome> {
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
            Payload::Task { .. } => return None,
        };
        Some(KeptOutcome { payload, is_error: outcome.is_error })
    }

    fn opened(self) -> Result<Outcome, StoredFailure> {
        let payload = match self.payload {
            KeptPayload::Ours { blocks, structured } => Payload::Ours {
                blocks: blocks
                    .into_iter()
                    .map(KeptBlock::opened)
                    .collect::<Option<_>>()
                    .ok_or_else(unreadable)?,
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
        };
        Ok(Outcome { is_error: self.is_error, ..Outcome::of(payload) })
    }
}

/// The result cannot be read back.
pub(super) fn unreadable() -> StoredFailure {
    let message =
        "what is kept of this job cannot be opened: it was changed, or the key that sealed it is gone";
    StoredFailure::new("result_unreadable", message)
}

fn text(bytes: &Bytes) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

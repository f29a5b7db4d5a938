//! What came of a job, as it is kept.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool_api::{Outcome, ToolError};

use crate::failure::{Failure, Refusal};
use crate::kept_outcome::{KeptOutcome, KeptProtocol};

/// Why a job has no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct StoredFailure {
    /// The stable code.
    pub code: String,
    /// The sentence for the caller.
    pub message: String,
    /// Facts for programs: those of the tool; of a refusal [its own](Refusal::facts).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Whether the gate did not let it run.
    #[serde(default)]
    pub is_refused: bool,
    /// The error of the protocol that stands behind it, where the caller of the tool is told that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Box<KeptProtocol>>,
}

impl StoredFailure {
    pub(super) fn new(code: &str, message: impl Into<String>) -> StoredFailure {
        let (code, message) = (code.to_owned(), message.into());
        StoredFailure { code, message, details: None, is_refused: false, protocol: None }
    }

    pub(super) fn of(failure: &Failure) -> StoredFailure {
        let (details, protocol) = match failure {
            Failure::Tool(error) => {
                let told = error.protocol().filter(|_| error.is_protocol_told());
                (error.details().cloned(), told.map(|protocol| Box::new(protocol.into())))
            }
            Failure::Refused(refusal) => (refusal.facts(), None),
            Failure::Internal(_) => (None, None),
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
        StoredFailure {
            details: refusal.facts(),
            is_refused: true,
            ..StoredFailure::new(refusal.code(), refusal.to_string())
        }
    }
}

/// As the failure of a tool, which models are told with its code.
impl From<StoredFailure> for Failure {
    fn from(stored: StoredFailure) -> Failure {
        let error = ToolError::new(stored.code, stored.message);
        // Those of a refusal are for programs that ask for the job.
        let details = stored.details.filter(|_| !stored.is_refused);
        let error = match details {
            Some(details) => error.with_details(details),
            None => error,
        };
        Failure::Tool(match stored.protocol {
            Some(protocol) => error.with_protocol((*protocol).into()).telling_protocol(),
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

impl KeptResult {
    pub(super) fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a result has text for keys")
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<KeptResult> {
        serde_json::from_slice(bytes).ok()
    }

    pub(super) fn opened(self) -> Result<Outcome, StoredFailure> {
        match self {
            KeptResult::Outcome(outcome) => outcome.opened().ok_or_else(unreadable),
            KeptResult::Failure(failure) => Err(failure),
        }
    }
}

/// The result cannot be read back.
pub(super) fn unreadable() -> StoredFailure {
    let message =
        "what is kept of this job cannot be opened: it was changed, or the key that sealed it is gone";
    StoredFailure::new("result_unreadable", message)
}

//! Why an operation was not done.

use gate::approvals::{AnswerFault, CodeFault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::StoreError;

use crate::chain;

/// Why an operation was not done: a sentence for people, and a code that stays the same for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(deny_unknown_fields)]
#[error("{message}")]
pub struct Fault {
    /// Whose turn it is to do something about it.
    pub kind: Kind,
    /// For programs, such as `unknown_key`.
    pub code: String,
    /// For people. Without secrets.
    pub message: String,
}

/// What sort of fault it is, which decides how a program ends and which status a transport answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// What was asked for means nothing, or is not as it must be.
    Misused,
    /// There is nothing of the name that was given.
    Unknown,
    /// It may not be done, or not by whoever asks.
    Refused,
    /// The work could not be done.
    Failed,
}

impl Fault {
    /// What was asked for means nothing.
    pub fn misused(message: impl Into<String>) -> Fault {
        Fault::of(Kind::Misused, "misused", message)
    }

    /// What is configured cannot be used.
    pub fn configuration(message: impl Into<String>) -> Fault {
        Fault::of(Kind::Misused, "configuration", message)
    }

    /// There is nothing of that name.
    pub fn unknown(code: &str, message: impl Into<String>) -> Fault {
        Fault::of(Kind::Unknown, code, message)
    }

    /// It may not be done.
    pub fn refused(code: &str, message: impl Into<String>) -> Fault {
        Fault::of(Kind::Refused, code, message)
    }

    /// It could not be done.
    pub fn failed(message: impl Into<String>) -> Fault {
        Fault::of(Kind::Failed, "failed", message)
    }

    /// It could not be done, for the reason that an error and its causes give.
    pub fn because(error: impl std::error::Error) -> Fault {
        Fault::failed(chain(&error))
    }

    fn of(kind: Kind, code: &str, message: impl Into<String>) -> Fault {
        Fault { kind, code: code.to_owned(), message: message.into() }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Fault {
        Fault::because(error)
    }
}

impl From<CodeFault> for Fault {
    fn from(fault: CodeFault) -> Fault {
        let code = match &fault {
            CodeFault::Needed => "code_required",
            CodeFault::Wrong => "wrong_code",
            CodeFault::Wait { .. } => "too_many_codes",
            CodeFault::Length => return Fault::misused(fault.to_string()),
            CodeFault::Unreadable => return Fault::failed(fault.to_string()),
            CodeFault::Store(_) => return Fault::because(fault),
        };
        Fault::refused(code, fault.to_string())
    }
}

impl From<AnswerFault> for Fault {
    fn from(fault: AnswerFault) -> Fault {
        let (code, message) = (fault.code(), fault.to_string());
        match fault {
            AnswerFault::Unknown(_) | AnswerFault::UnknownGrant(_) | AnswerFault::NotDenied(_) => {
                Fault::unknown(code, message)
            }
            AnswerFault::NoMember { .. }
            | AnswerFault::OnceOnly(_)
            | AnswerFault::NotForGood(_)
            | AnswerFault::NoBeginnings(_) => Fault::misused(message),
            AnswerFault::Store(error) => Fault::because(error),
            AnswerFault::WrongRole { .. }
            | AnswerFault::OwnQuestion(_)
            | AnswerFault::Nobody(_)
            | AnswerFault::NotAPerson(_)
            | AnswerFault::Code(_)
            | AnswerFault::Answered { .. }
            | AnswerFault::Expired { .. }
            | AnswerFault::TooManyGrants(_) => Fault::refused(code, message),
        }
    }
}

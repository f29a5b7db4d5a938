//! How the program ends: its exit codes, and the errors that lead to them.

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use admin::{Fault, Kind, chain};
use config::Problems;
use serde_json::{Value, json};

/// How a command ended that could do its work. Scripts rely on the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All is good: 0.
    Good,
    /// The work failed: 1.
    Failed,
    /// The command was not used as it is meant: 2.
    Misused,
    /// The gate refused: 3.
    Refused,
    /// A program that was run ended with this code, or by the signal that is so much above 128.
    Program(u8),
}

/// Why a command ended early.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The configuration is wrong.
    #[error("{0}")]
    Config(#[from] Problems),
    /// The command line is wrong in a way that only the work could find out.
    #[error("{0}")]
    Misused(String),
    /// The work could not be done.
    #[error("{0}")]
    Failed(String),
    /// An operation of the administration was not done.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The process that was to serve said why it does not, and how the program ends by that.
    #[error("{said}")]
    Elsewhere {
        /// How the program ends.
        ending: Ending,
        /// What it said.
        said: String,
    },
    /// The system failed us; most often nobody reads what we print.
    #[error("{0}")]
    Output(#[from] io::Error),
}

impl Trouble {
    /// The work could not be done, for the reason that an error and its causes give.
    pub fn because(error: impl std::error::Error) -> Trouble {
        Trouble::Failed(chain(&error))
    }

    /// For programs, as they are told of a call that failed.
    pub fn to_json(&self) -> Value {
        let code = match self {
            Trouble::Fault(fault) => fault.code.as_str(),
            Trouble::Config(_) => "configuration",
            Trouble::Misused(_) => "misused",
            Trouble::Failed(_) | Trouble::Output(_) | Trouble::Elsewhere { .. } => "failed",
        };
        let mut error = json!({ "code": code, "message": self.to_string() });
        if let Trouble::Config(problems) = self {
            error["problems"] = json!(problems.told());
        }
        json!({ "error": error })
    }

    /// How the program ends by it.
    pub fn ending(&self) -> Ending {
        match self {
            Trouble::Config(_) | Trouble::Misused(_) => Ending::Misused,
            Trouble::Fault(Fault { kind: Kind::Misused | Kind::Unknown, .. }) => Ending::Misused,
            Trouble::Fault(Fault { kind: Kind::Refused, .. }) => Ending::Refused,
            Trouble::Elsewhere { ending, .. } => *ending,
            // `toolcrib tools list | head` is good use.
            Trouble::Output(error) if error.kind() == ErrorKind::BrokenPipe => Ending::Good,
            Trouble::Failed(_) | Trouble::Output(_) | Trouble::Fault(_) => Ending::Failed,
        }
    }
}

impl Ending {
    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Ending::Good => 0,
            Ending::Failed => 1,
            Ending::Misused => 2,
            Ending::Refused => 3,
            Ending::Program(code) => code,
        }
    }

    /// The one of this code, as another process of the same build has told it.
    pub fn of_code(code: u8) -> Ending {
        let all = [Ending::Good, Ending::Misused, Ending::Refused];
        all.into_iter().find(|ending| ending.code() == code).unwrap_or(Ending::Failed)
    }
}

impl From<Ending> for ExitCode {
    fn from(ending: Ending) -> ExitCode {
        ExitCode::from(ending.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_what_it_was() {
        let unknown = Trouble::Fault(Fault::unknown("unknown_tool", "there is no tool `x`"));
        for (trouble, code) in [
            (&unknown, "unknown_tool"),
            (&Trouble::Misused("x".to_owned()), "misused"),
            (&Trouble::Failed("x".to_owned()), "failed"),
        ] {
            assert_eq!(
                trouble.to_json(),
                json!({ "error": { "code": code, "message": trouble.to_string() } })
            );
        }
        assert_eq!(unknown.ending(), Ending::Misused);
        let refused = Trouble::Fault(Fault::refused("not_a_person", "x"));
        assert_eq!(
            (refused.ending(), &refused.to_json()["error"]["code"]),
            (Ending::Refused, &json!("not_a_person"))
        );
    }
}

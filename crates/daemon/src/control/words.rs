//! What is said on the control channel, as types.

use std::time::Duration;

use admin::Refused;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Longest line that a process is asked with: an operation that keeps the longest secret, escaped.
pub(super) const REQUEST_BYTES_MAX: usize = 64 * 1024;

/// Longest line of an answer: the last words of a program, escaped, or the state of a thousand servers.
pub(super) const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A server that is connected to anew is waited for so long; what it is doing then is the answer.
pub(super) const RECONNECT_MAX: Duration = Duration::from_secs(60);

/// What a process can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub(super) enum Request {
    /// Who it is, and how its servers are doing: an [`admin::Toolcrib`].
    Status,
    /// To read its configuration again: an [`admin::Reloaded`].
    Reload,
    /// To end, if it is the process that serves all of a user's clients: nothing.
    Stop,
    /// To read again which secrets are kept, so that it strikes them out: nothing.
    Learn,
    /// To let go of a server and connect to it anew: how that one is doing then.
    Reconnect {
        /// The server.
        name: String,
    },
    /// To take up what was decided about the definitions of a server: how that one is doing then.
    Trust {
        /// The server.
        name: String,
    },
    /// To do an operation of the administration: an [`Operated`].
    Operate {
        /// Its name, such as `keys.list`.
        operation: String,
        /// Its input.
        input: Value,
    },
    /// The end of what a server's program wrote on its stderr.
    Stderr {
        /// The server.
        name: String,
    },
}

/// How it is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Answer {
    /// With what was asked for.
    Ok(Value),
    /// Not at all.
    #[serde(untagged)]
    Refused(Refused),
}

/// What came of an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Operated {
    /// Its output.
    Output(Value),
    /// Why it was not done.
    Fault(admin::Fault),
}

/// What one process says: an answer for each configuration that it serves. One of an earlier version has one only.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Answers {
    /// Any number.
    Each(Vec<Answer>),
    /// The only one.
    Only(Answer),
}

impl From<Answers> for Vec<Answer> {
    fn from(answers: Answers) -> Vec<Answer> {
        match answers {
            Answers::Each(answers) => answers,
            Answers::Only(answer) => vec![answer],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_request() {
        for (line, expected) in [
            (r#"{"do":"status"}"#, Some(Request::Status)),
            (r#"{"do":"watch"}"#, None),
            (r#"{"do":"reload"}"#, Some(Request::Reload)),
            (r#"{"do":"stop"}"#, Some(Request::Stop)),
            (r#"{"do":"learn"}"#, Some(Request::Learn)),
            (r#"{"do":"reconnect","name":"git"}"#, Some(Request::Reconnect { name: "git".into() })),
            (r#"{"do":"trust","name":"git"}"#, Some(Request::Trust { name: "git".into() })),
            (r#"{"name":"git","do":"stderr"}"#, Some(Request::Stderr { name: "git".into() })),
            (r#"{"do":"stderr"}"#, None),
            (
                r#"{"do":"operate","operation":"keys.list","input":{}}"#,
                Some(Request::Operate { operation: "keys.list".into(), input: serde_json::json!({}) }),
            ),
            (r#"{"do":"shutdown"}"#, None),
            ("status", None),
        ] {
            assert_eq!(serde_json::from_str(line).ok(), expected, "{line}");
        }
    }
}

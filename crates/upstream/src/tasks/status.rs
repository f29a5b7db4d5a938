//! How a task is doing, as either era says it.

use std::time::Duration;

use wire::Object;

use crate::settings::Mask;

/// How long to wait between two looks at a task that names no time.
const POLL_USUAL: Duration = Duration::from_secs(1);

/// The shortest and the longest time between two looks, whatever the server wishes.
const POLL_MIN: Duration = Duration::from_millis(50);
/// See [`POLL_MIN`].
const POLL_MAX: Duration = Duration::from_secs(30);

/// Longest sentence about a task that is reported, in bytes.
const STATUS_BYTES_MAX: usize = 500;

/// What a task is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

impl State {
    const ALL: [(State, &str); 5] = [
        (State::Working, "working"),
        (State::InputRequired, "input_required"),
        (State::Completed, "completed"),
        (State::Failed, "failed"),
        (State::Cancelled, "cancelled"),
    ];

    pub(super) fn name(self) -> &'static str {
        State::ALL[self as usize].1
    }
}

/// How a task is doing.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) state: State,
    /// In the server's words, or else the state.
    pub(super) message: String,
    /// How long to wait for the next look.
    pub(super) poll: Duration,
}

impl Status {
    /// Reads it; nothing if it is none.
    pub(super) fn read(task: Object<'_>, mask: &Mask) -> Option<Status> {
        let status = task.string("status")?;
        let (state, _) = *State::ALL.iter().find(|(_, name)| *name == status)?;
        let poll_ms = task.get("pollIntervalMs").or_else(|| task.get("pollInterval"));
        let poll_ms = poll_ms.and_then(|ms| ms.parse().ok());
        let poll = poll_ms.map_or(POLL_USUAL, Duration::from_millis).clamp(POLL_MIN, POLL_MAX);
        let message = task.string("statusMessage").filter(|message| !message.is_empty());
        let message = mask.sentence(message.as_ref().unwrap_or(&status), STATUS_BYTES_MAX);
        Some(Status { state, message, poll })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(task: &str) -> Option<(&'static str, String, u128)> {
        let status = Status::read(Object::parse(task).expect("an object"), &Mask::default())?;
        Some((status.state.name(), status.message, status.poll.as_millis()))
    }

    #[test]
    fn each_era_is_read_in_its_own_words_and_within_bounds() {
        let is = |state, message: &str, poll| Some((state, message.to_owned(), poll));
        for (task, expected) in [
            (r#"{"status":"working"}"#, is("working", "working", 1_000)),
            (r#"{"status":"working","pollInterval":200,"statusMessage":"half"}"#, is("working", "half", 200)),
            (
                r#"{"status":"input_required","pollIntervalMs":300}"#,
                is("input_required", "input_required", 300),
            ),
            (r#"{"status":"completed","pollIntervalMs":1}"#, is("completed", "completed", 50)),
            (r#"{"status":"failed","pollInterval":99999999}"#, is("failed", "failed", 30_000)),
            (r#"{"status":"cancelled","statusMessage":""}"#, is("cancelled", "cancelled", 1_000)),
            (r#"{"status":"asleep"}"#, None),
            ("{}", None),
        ] {
            assert_eq!(read(task), expected, "{task}");
        }
    }
}

//! How a job stands, and what may follow.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It waits for its turn.
    Queued,
    /// Its tool works.
    Running,
    /// A person must allow it first.
    WaitingApproval,
    /// Its tool wants an answer of its caller.
    InputRequired,
    /// It does not begin until somebody resumes it.
    Paused,
    /// Its tool gave a result.
    Succeeded,
    /// Its tool, or we, could not do it.
    Failed,
    /// Somebody has cancelled it.
    Cancelled,
    /// Its tool had its time.
    TimedOut,
    /// The process that ran it ended. Nobody knows what it has done.
    Interrupted,
}

impl State {
    /// All of them.
    pub const ALL: [State; 10] = [
        State::Queued,
        State::Running,
        State::WaitingApproval,
        State::InputRequired,
        State::Paused,
        State::Succeeded,
        State::Failed,
        State::Cancelled,
        State::TimedOut,
        State::Interrupted,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Queued => "queued",
            State::Running => "running",
            State::WaitingApproval => "waiting_approval",
            State::InputRequired => "input_required",
            State::Paused => "paused",
            State::Succeeded => "succeeded",
            State::Failed => "failed",
            State::Cancelled => "cancelled",
            State::TimedOut => "timed_out",
            State::Interrupted => "interrupted",
        }
    }

    /// The state of this word.
    pub fn parse(word: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether nothing follows.
    pub fn is_final(self) -> bool {
        match self {
            State::Queued
            | State::Running
            | State::WaitingApproval
            | State::InputRequired
            | State::Paused => false,
            State::Succeeded | State::Failed | State::Cancelled | State::TimedOut | State::Interrupted => {
                true
            }
        }
    }

    /// Whether it may be followed by `next`.
    pub fn may_become(self, next: State) -> bool {
        match self {
            // Before it runs again it may be cancelled, or be refused by what is in force by then.
            State::Queued | State::WaitingApproval => {
                self != next && !matches!(next, State::Succeeded | State::TimedOut)
            }
            // Whoever has it go on has it wait for its turn first: one that was to begin before begins no more.
            State::InputRequired | State::Paused => {
                self != next && !matches!(next, State::Running | State::Succeeded | State::TimedOut)
            }
            State::Running => !matches!(next, State::Running | State::Paused),
            State::Succeeded | State::Failed | State::Cancelled | State::TimedOut | State::Interrupted => {
                false
            }
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for state in State::ALL {
            assert_eq!(State::parse(state.as_str()), Some(state));
            assert_eq!(serde_json::to_value(state).expect("a word"), state.as_str());
        }
        assert_eq!(State::parse("done"), None);
    }

    #[test]
    fn nothing_follows_an_end_and_no_state_follows_itself() {
        for state in State::ALL {
            for next in State::ALL {
                let may = state.may_become(next);
                assert!(!may || (state != next && !state.is_final()), "{state} {next}");
            }
        }
        for (state, next, may) in [
            (State::Queued, State::Running, true),
            (State::Queued, State::Succeeded, false),
            (State::Running, State::Queued, true),
            (State::Running, State::Paused, false),
            (State::Running, State::Succeeded, true),
            (State::Running, State::Interrupted, true),
            (State::Paused, State::Queued, true),
            (State::Paused, State::Running, false),
            (State::InputRequired, State::Running, false),
            (State::WaitingApproval, State::Running, true),
            (State::WaitingApproval, State::Failed, true),
            (State::InputRequired, State::Queued, true),
            (State::Cancelled, State::Queued, false),
        ] {
            assert_eq!(state.may_become(next), may, "{state} {next}");
        }
    }
}

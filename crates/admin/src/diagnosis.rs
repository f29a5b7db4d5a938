//! What is wrong with a server that cannot be used, and what to try. This file is the list of what can go wrong; what
//! is known of programs, addresses and sign-ins is in files of their own, and all words are in `words.toml`.

mod address;
mod evidence;
mod finding;
mod program;
mod redirect;
pub mod sign_in;
#[cfg(test)]
mod tests;

use std::time::Duration;

use upstream::{ConnectError, Fault};

pub use evidence::{Seen, Step, trace};
pub use finding::{Diagnosis, Failed};

impl Failed<'_> {
    /// What is wrong with a server that could not be connected to.
    pub fn diagnose(&self, error: &ConnectError) -> Diagnosis {
        let name = self.settings.name();
        match error {
            ConnectError::Disabled => Diagnosis::of("disabled", &[("name", &name)]),
            ConnectError::Ended => Diagnosis::of("interrupted", &[]),
            ConnectError::Lacking(why) => Diagnosis::of("missing_secret", &[("message", why)]),
            ConnectError::Start { kind, said: message } => program::not_started(self, *kind, message),
            ConnectError::TooSlow { what, limit, .. } => self.too_slow(what, *limit),
            ConnectError::Request(fault) => self.no_answer(fault),
            // What it refuses with is our own refusal of what it asked us.
            ConnectError::Refused { .. } if self.seen.echoes => Diagnosis::of("echoes", &[]),
            ConnectError::Refused { method, code, said: message } => {
                Diagnosis::of("refuses", &[("method", method), ("message", message), ("code", code)])
            }
            ConnectError::NotRestarted { last } => Diagnosis::of("not_restarted", &[("last", last)]),
            ConnectError::Crowded => Diagnosis::of("crowded", &[("message", error), ("name", &name)]),
            ConnectError::BackingOff { last, .. } => self.diagnose(last),
        }
    }

    /// A request got no answer that could be used.
    fn no_answer(&self, fault: &Fault) -> Diagnosis {
        match fault {
            Fault::Gone(how) if self.settings.program().is_some() => program::exited(self, how),
            Fault::Gone(_) => address::closed(self),
            Fault::NotSent(message) => address::unreachable(self, message),
            Fault::Busy => address::unreachable(self, "it does not take in what it is sent"),
            Fault::Access(status) => address::no_access(self, *status),
            Fault::SignIn(error) | Fault::Scope(error) => sign_in::diagnose(self.settings.name(), error),
            Fault::Redirect { status, .. } => redirect::diagnose(self, *status),
            Fault::Status { status, said: message } => address::status(self, *status, message),
            Fault::Broken(why) | Fault::Lacking(why) | Fault::Round(why) => self.not_mcp(why),
        }
    }

    /// It was there and did not answer.
    fn too_slow(&self, step: &str, limit: Duration) -> Diagnosis {
        let is_program = self.settings.program().is_some();
        let kind = match self.seen.messages {
            0 if is_program => {
                if let Some(message) = &self.seen.text {
                    return Diagnosis::of(
                        "only_text",
                        &[("message", message), ("place", &self.settings.place())],
                    );
                }
                if let Some(message) = &self.seen.foreign {
                    return Diagnosis::of("other_protocol", &[("message", message)]);
                }
                "never_answers:program"
            }
            0 => "never_answers",
            _ => "hangs",
        };
        let (name, seconds) = (self.settings.name(), limit.as_secs_f32());
        Diagnosis::of(kind, &[("name", &name), ("seconds", &seconds), ("step", &step)])
    }

    /// What it says is no MCP.
    fn not_mcp(&self, why: &str) -> Diagnosis {
        if self.settings.address().is_some()
            && let Some(diagnosis) = address::no_message(self)
        {
            return diagnosis;
        }
        match &self.seen.foreign {
            Some(message) if self.seen.messages == 0 => {
                Diagnosis::of("other_protocol", &[("message", message)])
            }
            _ => Diagnosis::of("not_mcp", &[("why", &why)]),
        }
    }
}

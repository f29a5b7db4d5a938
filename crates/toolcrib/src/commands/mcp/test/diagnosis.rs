//! What is wrong with a server that cannot be used, and what to try. This file is the list of what can go wrong;
//! the words for programs, addresses and sign-ins are in files of their own.

mod address;
mod finding;
mod program;
mod redirect;
pub(crate) mod sign_in;

use std::time::Duration;

use upstream::{ConnectError, Settings};

pub(crate) use finding::{Diagnosis, Failed};

impl Failed<'_> {
    /// What is wrong with a server that could not be connected to.
    pub(super) fn diagnose(&self, error: &ConnectError) -> Diagnosis {
        let name = self.settings.name();
        match error {
            ConnectError::Disabled => Diagnosis::new(
                "disabled",
                "it is switched off in the configuration",
                format!("remove `enabled = false` from [mcp.{name}]"),
            ),
            ConnectError::Ended => Diagnosis::new("interrupted", "the test was interrupted", "test it again"),
            ConnectError::Lacking(why) => Diagnosis::new("missing_secret", why, "then test it again"),
            ConnectError::Start { kind, said } => program::not_started(self, *kind, said),
            ConnectError::Exited { how } if self.settings.program().is_some() => program::exited(self, how),
            ConnectError::Exited { .. } => address::closed(self),
            ConnectError::TooSlow { what, limit, .. } => self.too_slow(what, *limit),
            ConnectError::Unreachable(said) => address::unreachable(self, said),
            ConnectError::Access(status) => address::no_access(self, *status),
            ConnectError::SignIn(error) => sign_in::diagnose(name, error),
            ConnectError::Redirect { status, .. } => redirect::diagnose(self, *status),
            ConnectError::Status { status, said } => address::status(self, *status, said),
            // What it refuses with is our own refusal of what it asked us.
            ConnectError::Refused { .. } if self.seen.echoes => Diagnosis::new(
                "echoes",
                "it only echoes what it is sent",
                "check that it is an MCP server, and that it is not started through something that repeats its input",
            ),
            ConnectError::Refused { method, code, said } => Diagnosis::new(
                "refuses",
                format!("it refuses `{method}`: {said} (code {code})"),
                "look into its documentation for what it wants of a client; `toolcrib mcp debug` shows all that was said",
            ),
            ConnectError::NotMcp(why) => self.not_mcp(why),
            ConnectError::NotRestarted { last } => Diagnosis::new(
                "not_restarted",
                format!("it has ended and is not started again by itself: {last}"),
                "`toolcrib mcp reload` starts it; `restart` says when that happens by itself",
            ),
            ConnectError::Crowded => Diagnosis::new(
                "crowded",
                error.to_string(),
                format!("test it again in a moment, or set another `isolation` in [mcp.{name}]"),
            ),
            ConnectError::BackingOff { last, .. } => self.diagnose(last),
        }
    }

    /// It was there and did not answer.
    fn too_slow(&self, what: &str, limit: Duration) -> Diagnosis {
        if self.settings.program().is_some() && self.seen.messages == 0 {
            if let Some(said) = &self.seen.text {
                return program::only_text(self, said);
            }
            if let Some(said) = &self.seen.foreign {
                return other_json(said);
            }
        }
        let (name, seconds) = (self.settings.name(), limit.as_secs_f32());
        match self.seen.messages {
            0 => Diagnosis::new(
                "never_answers",
                format!("it is there and answers nothing, for {seconds} s now"),
                match self.settings.program() {
                    Some(_) => format!(
                        "check that it speaks MCP over its standard streams: some programs need an argument such as \
                         `stdio`; if it only needs longer, raise `start_timeout` in [mcp.{name}]"
                    ),
                    None => format!(
                        "check that the address is that of an MCP server; if it only needs longer, raise \
                         `start_timeout` in [mcp.{name}]"
                    ),
                },
            ),
            _ => Diagnosis::new(
                "hangs",
                format!("it answered, and then did not {what} within {seconds} s"),
                format!(
                    "see `toolcrib mcp debug {name}` for what it was asked last; if it only needs longer, raise \
                     `start_timeout` or `list_timeout` in [mcp.{name}]"
                ),
            ),
        }
    }

    /// What it says is no MCP.
    fn not_mcp(&self, why: &str) -> Diagnosis {
        if self.settings.address().is_some()
            && let Some(diagnosis) = address::no_message(self)
        {
            return diagnosis;
        }
        match &self.seen.foreign {
            Some(said) if self.seen.messages == 0 => other_json(said),
            _ => Diagnosis::new(
                "not_mcp",
                format!("it does not speak MCP as expected: {why}"),
                "check that it is an MCP server, and a newer version of it; `toolcrib mcp debug` shows all that was said",
            ),
        }
    }
}

/// It would have been usable, but not within the time that it is given.
pub(super) fn late(settings: &Settings, step: &str, key: &str, limit: Duration, took: Duration) -> Diagnosis {
    let (took_s, limit_s) = (took.as_secs_f32(), limit.as_secs_f32());
    let enough = took.as_secs().saturating_mul(2).saturating_add(1);
    Diagnosis::new(
        "late",
        format!("it answers too late: its {step} took {took_s:.1} s, and it has {limit_s} s"),
        format!("set `{key} = \"{enough}s\"` in [mcp.{}]", settings.name()),
    )
}

fn other_json(said: &str) -> Diagnosis {
    Diagnosis::new(
        "other_protocol",
        format!("it speaks JSON, but not MCP: {said}"),
        "check that it is an MCP server and not some other interface of the same program; it may need an argument or \
         another path",
    )
}

//! `Status` and `Report`: how an upstream is doing, told at every change, and in full when somebody asks.

use std::time::Duration;

use serde::Serialize;

use crate::connection::SandboxReport;
use crate::offer::{Offer, State};
use crate::refusals::SandboxRefusal;
use crate::settings::Settings;

/// How long lists stay good whose server does not say it.
pub const LISTS_GOOD_FOR: Duration = Duration::from_secs(60 * 60);

/// Changes of one upstream's state that a reader has not taken yet; who falls behind misses the oldest.
pub(crate) const STATUSES_WAITING_MAX: usize = 1_024;

/// A change of an upstream's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Which upstream.
    pub name: String,
    /// How it is doing from now on.
    pub state: State,
    /// When that began, in milliseconds since 1970.
    pub at_ms: i64,
}

/// Everything about how an upstream is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The name of its table.
    pub name: String,
    /// How it is doing.
    pub state: State,
    /// How it is reached: "stdio", "socket", "http", or "sse" for what is fixed to HTTP with server-sent events or
    /// was found to speak it.
    pub transport: &'static str,
    /// How many tools it offers.
    pub tools: usize,
    /// How many prompts it offers.
    pub prompts: usize,
    /// How many resources and resource templates it offers.
    pub resources: usize,
    /// How many things it has that cannot be offered: unsound ones, and those whose names are taken.
    pub withheld: usize,
    /// How many things are not offered before a person accepts them; those that were rejected do not count.
    pub held_back: usize,
    /// How many and why, in a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_back_why: Option<String>,
    /// True if what it offers was read longer ago than it stays good.
    pub stale: bool,
    /// When that was read, in milliseconds since 1970.
    pub fetched_at_ms: Option<i64>,
    /// How often it was connected to anew.
    pub restarts: u64,
    /// How many of its processes run; 0 for what is no program.
    pub processes: usize,
    /// How long its calls are still refused, in milliseconds, since too many in a row got no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub circuit_open_ms: Option<u64>,
    /// What went wrong last, if anything did in this run.
    pub last_error: Option<String>,
    /// How its program is confined; nothing for what is no program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxState>,
}

/// How the program of a server is confined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxState {
    /// `"confined"`, `"open"`, or `"degraded"` for one that runs without some layers.
    pub profile: &'static str,
    /// Layers that were missing and waived.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<&'static str>,
    /// What it was refused first; all is known where it was started.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<SandboxRefusal>,
}

/// Refusals in a report: one who wants all tests the server.
const REFUSALS_MAX: usize = 20;

impl SandboxState {
    /// That of a server, with what is known of its program once it was started.
    pub fn of(settings: &Settings, report: Option<&SandboxReport>) -> Option<SandboxState> {
        settings.program()?;
        let without: Vec<&'static str> =
            report.into_iter().flat_map(|report| &report.without).map(|layer| layer.name()).collect();
        let profile = match (settings.sandbox().is_open, without.is_empty()) {
            (true, _) => "open",
            (false, true) => "confined",
            (false, false) => "degraded",
        };
        let mut refused = report.map(|report| report.refusals(settings)).unwrap_or_default();
        refused.truncate(REFUSALS_MAX);
        Some(SandboxState { profile, without, refused })
    }
}

/// True if the offer was read so long before `now_ms` that it may have changed.
pub(crate) fn is_stale(offer: &Offer, fetched_at_ms: i64, now_ms: i64) -> bool {
    let good_for_ms = match offer.ttl_ms {
        // Those that are never good for long are asked for again whenever somebody lists.
        None | Some(0) => u64::try_from(LISTS_GOOD_FOR.as_millis()).unwrap_or(u64::MAX),
        Some(ttl_ms) => ttl_ms,
    };
    // A clock that was set back makes nothing good.
    u64::try_from(now_ms.saturating_sub(fetched_at_ms)).map_or(true, |age_ms| age_ms > good_for_ms)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sandbox::confine::{Layer, StartedBy};
    use sandbox::egress::{HostRules, Journal};
    use tool_api::Sandboxed;
    use wire::Revision;

    use super::*;

    #[test]
    fn a_server_without_a_waived_layer_is_degraded_and_so_are_its_calls() {
        let upstream = crate::round::tests::upstream();
        let report = |without: &[Layer]| SandboxReport {
            read: Vec::new(),
            write: Vec::new(),
            hosts: HostRules::none(),
            left_out: Vec::new(),
            unreached: Vec::new(),
            without: without.to_vec(),
            started_by: StartedBy::Own,
            journal: Arc::new(Journal::new()),
        };
        assert_eq!(upstream.sandboxed(), None, "it has not been started");
        for (without, profile, degraded) in
            [(&[][..], "confined", None), (&[Layer::Landlock][..], "degraded", Some(vec!["landlock"]))]
        {
            *upstream.confined.lock().expect("nobody panics") = Some(Arc::new(report(without)));
            let state = SandboxState::of(&upstream.settings, upstream.sandbox().as_deref());
            assert_eq!(state.expect("it is a program").profile, profile);
            let degraded =
                degraded.map(|degraded| Sandboxed { profile: "upstream", launcher: "own", degraded });
            assert_eq!(upstream.sandboxed(), degraded, "{without:?}");
        }
    }

    #[test]
    fn a_state_is_written_as_the_seed_wrote_it() {
        let (revision, server) = (Revision::LATEST_LEGACY, "everything 2.0".to_owned());
        let error = || "it \"hurts\"".to_owned();
        for (state, expected) in [
            (State::Disabled, r#"{"status":"disabled"}"#),
            (State::Stopped, r#"{"status":"stopped"}"#),
            (State::Connecting, r#"{"status":"connecting"}"#),
            (State::Connected { revision, server }, r#"{"status":"connected"}"#),
            (State::NeedsAuth, r#"{"status":"needs_auth"}"#),
            (
                State::NeedsClientRegistration { error: error() },
                r#"{"status":"needs_client_registration","error":"it \"hurts\""}"#,
            ),
            (State::Failed { error: error() }, r#"{"status":"failed","error":"it \"hurts\""}"#),
        ] {
            let status = Status { name: "x".into(), state, at_ms: 5 };
            let written = serde_json::to_string(&status).expect("plain JSON");
            assert_eq!(written, format!(r#"{{"name":"x","state":{expected},"at_ms":5}}"#));
        }
    }

    #[test]
    fn lists_are_stale_after_their_own_time_or_an_hour() {
        let hour_ms = 60 * 60 * 1000;
        for (ttl_ms, age_ms, expected) in [
            (None, hour_ms, false),
            (Some(0), hour_ms + 1, true),
            (Some(5_000), 5_000, false),
            (Some(5_000), 5_001, true),
            (Some(u64::MAX), i64::MAX, false),
            (Some(5_000), -1, true),
        ] {
            let offer = Offer { ttl_ms, ..Offer::default() };
            let fetched_at_ms = if age_ms == i64::MAX { 0 } else { 7_000_000 };
            let now_ms = if age_ms == i64::MAX { i64::MAX } else { fetched_at_ms + age_ms };
            assert_eq!(is_stale(&offer, fetched_at_ms, now_ms), expected, "{ttl_ms:?} {age_ms}");
        }
    }
}

//! `Status` and `Report`: how an upstream is doing, told at every change, and in full when somebody asks.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use tokio::sync::broadcast;

use crate::Upstream;
use crate::offer::{Offer, State};
use crate::settings::Endpoint;

/// How long lists stay good whose server does not say it.
pub const LISTS_GOOD_FOR: Duration = Duration::from_secs(60 * 60);

/// Changes of one upstream's state that a reader has not taken yet; who falls behind misses the oldest.
pub(crate) const STATUSES_WAITING_MAX: usize = 1_024;

/// A change of an upstream's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Which upstream.
    #[serde(serialize_with = "as_text")]
    pub name: Arc<str>,
    /// How it is doing from now on.
    pub state: State,
    /// When that began, in milliseconds since 1970.
    pub at_ms: i64,
}

/// Everything about how an upstream is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The name of its table.
    #[serde(serialize_with = "as_text")]
    pub name: Arc<str>,
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
    /// True if what it offers was read longer ago than it stays good.
    pub stale: bool,
    /// When that was read, in milliseconds since 1970.
    pub fetched_at_ms: Option<i64>,
    /// How often it was connected to anew.
    pub restarts: u64,
    /// How many of its processes run; 0 for what is no program.
    pub processes: usize,
    /// What went wrong last, if anything did in this run.
    pub last_error: Option<String>,
}

/// As `{"status":"failed","error":"…"}`; the error is there in the states that have one.
impl Serialize for State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let error = self.error();
        let mut map = serializer.serialize_map(Some(1 + usize::from(error.is_some())))?;
        map.serialize_entry("status", self.word())?;
        if let Some(error) = error {
            map.serialize_entry("error", error)?;
        }
        map.end()
    }
}

fn as_text<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

/// The time of day, in milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl Upstream {
    /// Every change of its state from now on, one by one. Who takes them slower than they come misses the oldest.
    pub fn statuses(&self) -> broadcast::Receiver<Status> {
        self.statuses.subscribe()
    }

    /// How many calls wait for their turn.
    pub fn queued(&self) -> usize {
        self.turns().waiting()
    }

    /// How it is doing.
    pub fn status(&self) -> Report {
        let offer = self.offers.borrow().clone();
        let fetched_at_ms = self.fetched_at_ms();
        Report {
            name: self.settings.name.clone(),
            transport: self.transport(),
            tools: offer.tools.len(),
            prompts: offer.features.prompts.len(),
            resources: offer.features.resources.len() + offer.features.templates.len(),
            withheld: offer.withheld.len(),
            held_back: offer.held.iter().filter(|held| held.why.awaits()).count(),
            stale: fetched_at_ms.is_some_and(|fetched| is_stale(&offer, fetched, now_ms())),
            fetched_at_ms,
            restarts: self.connected.load(Ordering::Relaxed).saturating_sub(1),
            processes: self.processes(),
            last_error: self.last_error().clone(),
            state: offer.state,
        }
    }

    /// Something is wrong that does not change how it is doing. False if that went wrong last, too.
    pub(crate) fn note_error(&self, error: &str) -> bool {
        let before = self.last_error().replace(error.to_owned());
        before.as_deref() != Some(error)
    }

    fn last_error(&self) -> MutexGuard<'_, Option<String>> {
        self.last_error.lock().expect("nothing panics while it holds the lock")
    }

    fn transport(&self) -> &'static str {
        let is_sse = self.live_connection().is_some_and(|live| live.is_sse());
        if is_sse { "sse" } else { self.settings.endpoint.transport_name() }
    }

    fn processes(&self) -> usize {
        match &self.settings.endpoint {
            Endpoint::Program(_) => usize::from(self.live_connection().is_some()) + self.pool.len(),
            Endpoint::Socket(_) | Endpoint::Address { .. } => 0,
        }
    }

    /// Tells the change from `before`, if it is one, and takes note of what went wrong. Called while the offer is
    /// changed, so that changes are told in their order.
    pub(crate) fn tell_status(&self, before: &State, state: &State) {
        if before == state {
            return;
        }
        if let Some(error) = state.error() {
            *self.last_error() = Some(error.to_owned());
        }
        let (name, state) = (self.settings.name.clone(), state.clone());
        // Nobody may be listening just now.
        let _ = self.statuses.send(Status { name, state, at_ms: now_ms() });
    }
}

/// True if the offer was read so long before `now_ms` that it may have changed.
fn is_stale(offer: &Offer, fetched_at_ms: i64, now_ms: i64) -> bool {
    let good_for_ms = match offer.ttl_ms {
        0 => u64::try_from(LISTS_GOOD_FOR.as_millis()).unwrap_or(u64::MAX),
        ttl_ms => ttl_ms,
    };
    // A clock that was set back makes nothing good.
    u64::try_from(now_ms.saturating_sub(fetched_at_ms)).map_or(true, |age_ms| age_ms > good_for_ms)
}

#[cfg(test)]
mod tests {
    use wire::Revision;

    use super::*;

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
            (0, hour_ms, false),
            (0, hour_ms + 1, true),
            (5_000, 5_000, false),
            (5_000, 5_001, true),
            (u64::MAX, i64::MAX, false),
            (5_000, -1, true),
        ] {
            let offer = Offer { ttl_ms, ..Offer::empty(State::Stopped) };
            let fetched_at_ms = if age_ms == i64::MAX { 0 } else { 7_000_000 };
            let now_ms = if age_ms == i64::MAX { i64::MAX } else { fetched_at_ms + age_ms };
            assert_eq!(is_stale(&offer, fetched_at_ms, now_ms), expected, "{ttl_ms} {age_ms}");
        }
    }
}

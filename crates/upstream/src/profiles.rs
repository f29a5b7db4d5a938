//! Sessions for clients that can do different things.
//!
//! A legacy server learns once, at the handshake, what its client can do, and acts on it from then on. The first
//! session declares everything, and a question that its client cannot answer is refused when it comes. A server
//! at an address that has been refused so is from then on told the truth: clients that cannot do everything share
//! sessions in which no more is declared than they can do. Not before, since most servers never ask, and some
//! bear only one session. A program is one process for everybody, so there the first session is the only one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;
use wire::Object;

use crate::Upstream;
use crate::connection::{Connection, Era, Exchange, Subscribed};
use crate::error::ConnectError;
use crate::handshake::Meeting;
use crate::settings::Endpoint;

/// Sessions with one server beside its first. Beyond it the first one makes room that nobody uses.
const SESSIONS_MAX: usize = 8;

/// How long such a session may take to open. A server that bears only one may never answer.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);

/// A server that has refused to open one is not asked again for so long.
const REFUSED_FOR: Duration = Duration::from_secs(60);

/// What a client can be asked for: which of [`ABILITIES`] it declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Profile(u8);

/// Capabilities that a server acts on, and what is in them. Elicitation without more means forms.
const ABILITIES: [(&str, &str); 6] = [
    ("roots", ""),
    ("sampling", ""),
    ("sampling", "tools"),
    ("sampling", "context"),
    ("elicitation", "form"),
    ("elicitation", "url"),
];

impl Profile {
    /// Everything that can be asked for.
    pub(crate) const ALL: Profile = Profile((1 << ABILITIES.len()) - 1);

    /// What a client with these `ClientCapabilities` can be asked for.
    pub(crate) fn of(capabilities: &[u8]) -> Profile {
        let text = std::str::from_utf8(capabilities).unwrap_or_default();
        let Some(declared) = Object::parse(text) else { return Profile(0) };
        let has = |(capability, part): &(&str, &str)| {
            let Some(declared) = declared.object(capability) else { return false };
            let says_nothing = declared.get("form").is_none() && declared.get("url").is_none();
            part.is_empty() || declared.get(part).is_some() || (*part == "form" && says_nothing)
        };
        let bits = ABILITIES.iter().enumerate().filter(|(_, ability)| has(ability));
        Profile(bits.fold(0, |bits, (index, _)| bits | 1 << index))
    }

    /// The `ClientCapabilities` object that says so.
    pub(crate) fn json(self) -> String {
        let mut parts: Vec<(&str, Vec<&str>)> = Vec::new();
        for (index, (capability, part)) in ABILITIES.into_iter().enumerate() {
            if self.0 & 1 << index == 0 {
                continue;
            }
            if parts.last().is_none_or(|(last, _)| *last != capability) {
                parts.push((capability, Vec::new()));
            }
            if let Some((_, inside)) = parts.last_mut().filter(|_| !part.is_empty()) {
                inside.push(part);
            }
        }
        let members = parts.iter().map(|(capability, inside)| {
            let inside: Vec<String> = inside.iter().map(|part| format!("\"{part}\":{{}}")).collect();
            format!("\"{capability}\":{{{}}}", inside.join(","))
        });
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }
}

/// The sessions beside the first.
#[derive(Default)]
pub(crate) struct Profiles {
    open: Mutex<Vec<(Profile, Arc<Connection>)>>,
    /// Held by whoever opens one, so that nobody opens the same twice.
    opening: tokio::sync::Mutex<()>,
    /// True once the server has asked a client for more than it can do.
    wanted: AtomicBool,
    /// When the server has refused to open one.
    refused: Mutex<Option<Instant>>,
}

impl Profiles {
    fn lock(&self) -> MutexGuard<'_, Vec<(Profile, Arc<Connection>)>> {
        self.open.lock().expect("nothing panics while it holds the lock")
    }

    /// The server has asked a client for more than it can do.
    pub(crate) fn want(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    fn find(&self, profile: Profile) -> Option<Arc<Connection>> {
        let mut open = self.lock();
        open.retain(|(_, connection)| !connection.exchange().closed().is_cancelled());
        open.iter().find(|(known, _)| *known == profile).map(|(_, connection)| connection.clone())
    }

    /// Keeps a session. If another one makes room for it that nobody uses, it is returned, to be ended.
    fn keep(&self, profile: Profile, connection: Arc<Connection>) -> Option<Arc<Connection>> {
        let mut open = self.lock();
        let mut idle = None;
        if open.len() >= SESSIONS_MAX {
            // Whoever has a call under way in a session holds it until that is done.
            let unparked: Vec<_> = (0..open.len()).filter(|&at| !open[at].1.parks_any()).collect();
            let at = unparked.iter().copied().find(|&at| Arc::strong_count(&open[at].1) == 1);
            let is_idle = at.is_some();
            let (_, evicted) = open.remove(at.or(unparked.first().copied()).unwrap_or(0));
            idle = is_idle.then_some(evicted);
        }
        open.push((profile, connection));
        idle
    }

    /// The session in which a call waits that is named so.
    fn parked_at(&self, state: &str) -> Option<Arc<Connection>> {
        self.lock().iter().find(|(_, open)| open.has_parked(state)).map(|(_, open)| open.clone())
    }

    /// The server was met anew: what it refused before it may not refuse again.
    pub(crate) fn welcome(&self) {
        *self.refused() = None;
    }

    fn refused(&self) -> MutexGuard<'_, Option<Instant>> {
        self.refused.lock().expect("nothing panics while it holds the lock")
    }

    /// True if the server bears more than one session, as far as is known.
    fn may_open(&self) -> bool {
        self.refused().is_none_or(|refused| refused.elapsed() >= REFUSED_FOR)
    }

    /// Lets go of the session with this exchange.
    pub(crate) fn give_up(&self, exchange: &Arc<Exchange>) {
        self.lock().retain(|(_, connection)| !Arc::ptr_eq(connection.exchange(), exchange));
    }

    /// All sessions, which are then no longer kept.
    pub(crate) fn take(&self) -> Vec<Arc<Connection>> {
        self.lock().drain(..).map(|(_, connection)| connection).collect()
    }
}

impl Upstream {
    /// The connection on which a call waits that is named so.
    pub(crate) fn parked_at(&self, state: &str) -> Option<Arc<Connection>> {
        let live = self.live_connection().filter(|live| live.has_parked(state));
        live.or_else(|| self.profiles().parked_at(state))
    }

    /// A connection for a call of a client with these `ClientCapabilities`.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) async fn connection_for(&self, capabilities: &[u8]) -> Result<Arc<Connection>, ConnectError> {
        let first = self.connection().await?;
        let profiles = self.profiles();
        if !profiles.wanted.load(Ordering::Relaxed) || !profiles.may_open() {
            return Ok(first);
        }
        let has_sessions = matches!(self.settings().endpoint, Endpoint::Address { .. });
        let profile = Profile::of(capabilities);
        if first.is_modern() || !has_sessions || profile == Profile::ALL {
            return Ok(first);
        }
        match self.profiled(profile).await {
            Ok(connection) => Ok(connection),
            Err(error) => {
                *profiles.refused() = Some(Instant::now());
                let error = self.settings().masked(&error.to_string());
                tracing::warn!(target: "upstream", upstream = %self.name(), error, "it bears only one session, which declares more than some clients can do");
                Ok(first)
            }
        }
    }

    async fn profiled(&self, profile: Profile) -> Result<Arc<Connection>, ConnectError> {
        if let Some(open) = self.profiles().find(profile) {
            return Ok(open);
        }
        let _only_one = self.profiles().opening.lock().await;
        if let Some(open) = self.profiles().find(profile) {
            return Ok(open);
        }
        // Changes of lists and resources are heard in the first session.
        let unwatched: Arc<Subscribed> = Arc::default();
        let meeting = Meeting { profile, ..self.meeting(&unwatched) };
        let met = self.within(OPEN_TIMEOUT, "answer the handshake", meeting.meet(Some(Era::Legacy))).await?;
        let connection = Arc::new(met.0);
        if let Some(idle) = self.profiles().keep(profile, connection.clone()) {
            // Its goodbye is bounded, and nobody need wait for it.
            tokio::spawn(async move { idle.end().await });
        }
        Ok(connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_declared_is_said_again() {
        let all = r#"{"roots":{},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}}}"#;
        assert_eq!(Profile::ALL.json(), all);
        for (declared, said) in [
            ("{}", "{}"),
            ("", "{}"),
            ("[]", "{}"),
            (r#"{"elicitation":{}}"#, r#"{"elicitation":{"form":{}}}"#),
            (r#"{"elicitation":{"url":{}}}"#, r#"{"elicitation":{"url":{}}}"#),
            (
                r#"{"x":1,"sampling":{"tools":{}},"roots":{"listChanged":true}}"#,
                r#"{"roots":{},"sampling":{"tools":{}}}"#,
            ),
            (r#"{"sampling":null,"elicitation":5}"#, "{}"),
            (all, all),
        ] {
            let profile = Profile::of(declared.as_bytes());
            assert_eq!(profile.json(), said, "{declared}");
            assert_eq!(Profile::of(said.as_bytes()), profile, "{declared}");
        }
    }
}

//! Getting connected: once for all who ask, within limits, and not again at once after repeated failures.

use std::future::Future;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::FutureExt;
use oauth::AuthError;
use tokio::time::{Instant, timeout};

use super::tend;
use crate::config::{EraChoice, Restart};
use crate::connection::{Connection, Era, Parting, ServerIdentity};
use crate::error::ConnectError;
use crate::handshake::Meeting;
use crate::lists::Lists;
use crate::offer::{Offer, State};
use crate::profiles::Profile;
use crate::settings::Mask;
use crate::upstream::{Attempt, Demand, Phase, Starts, Upstream, attempt};

/// Longest name and version of a server that are shown together, in bytes.
const SERVER_BYTES_MAX: usize = 200;

impl Upstream {
    /// The live connection, or the next one.
    pub(crate) async fn connected(&self, demand: Demand) -> Result<Arc<Connection>, ConnectError> {
        if let Some(live) = self.live_connection() {
            return Ok(live);
        }
        let awaits_sign_in = matches!(self.starts().phase(), Phase::AwaitingSignIn(_));
        if let (Demand::Call, true, Some(account)) = (demand, awaits_sign_in, self.account())
            && let Ok(Some(_)) = account.access_token().await
        {
            // A sign-in has left something that is worth a try.
            self.starts().settle(Phase::Stopped);
        }
        let attempt = self.attempt(demand)?;
        attempt.await
    }

    /// The connection there is, if it is sound.
    pub(crate) fn live_connection(&self) -> Option<Arc<Connection>> {
        self.live.load_full().filter(|live| !live.exchange().pending.closed.is_cancelled())
    }

    pub(crate) fn starts(&self) -> MutexGuard<'_, Starts> {
        self.starts.lock().expect("nothing panics while it holds the lock")
    }

    /// Joins the start under way, or begins one.
    fn attempt(&self, demand: Demand) -> Result<Attempt, ConnectError> {
        if !self.settings.enabled {
            return Err(ConnectError::Disabled);
        }
        // It may have ended without anybody having noticed, and be one that stays so.
        if let Some(last) = self.live.load_full().filter(|_| self.stays_ended())
            && let Some((Parting::ByItself | Parting::Well, fault)) = last.exchange().pending.ended()
        {
            self.lose(last.exchange(), &fault);
        }
        let mut starts = self.starts();
        if let Phase::Connecting(attempt) = starts.phase() {
            return Ok(attempt.clone());
        }
        if let Some(live) = self.live_connection() {
            return Ok(async { Ok(live) }.boxed().shared());
        }
        starts.check(demand, Instant::now())?;
        let (me, weak) = (self.me.upgrade().ok_or(ConnectError::Ended)?, self.me.clone());
        let panicked = move || {
            if let Some(me) = weak.upgrade() {
                me.starts().given_up(Phase::Stopped);
            }
        };
        let attempt = attempt(async move { me.start(demand).await }, panicked);
        starts.connecting(attempt.clone());
        Ok(attempt)
    }

    /// One start, from the announcement to the result that everybody sees.
    async fn start(&self, demand: Demand) -> Result<Arc<Connection>, ConnectError> {
        let begun = Instant::now();
        // Why it failed is of more use than that it is tried again.
        if demand != Demand::Background {
            self.say(State::Connecting);
        }
        let meeting = self.meeting(Profile::ALL, true);
        let opened = self.unless_closed(&meeting, self.open(&meeting)).await;
        match opened {
            Ok((connection, lists)) => {
                // Held until it is offered: whoever ends it in between waits for that.
                let mut starts = self.starts();
                if !starts.ready() {
                    return Err(ConnectError::Ended);
                }
                self.connected.fetch_add(1, Ordering::Relaxed);
                self.live.store(Some(connection.clone()));
                self.show(lists, state(&connection.identity, self.settings.mask()));
                self.log_connected(begun.elapsed());
                let (exchange, tended) = (connection.exchange().clone(), Arc::downgrade(&connection));
                // Owned by the connection's exchange: it ends when that is closed.
                tokio::spawn(tend::tend(self.me.clone(), tended, exchange));
                Ok(connection)
            }
            Err(ConnectError::Ended) => {
                self.starts().given_up(Phase::Stopped);
                Err(ConnectError::Ended)
            }
            Err(error) => {
                self.note_failure(demand, &error);
                self.say(self.state_after(&error));
                Err(error)
            }
        }
    }

    fn note_failure(&self, demand: Demand, error: &ConnectError) {
        // It may have become another; which era it is of is found out anew.
        self.remember_era(None);
        let shown = self.settings.masked(&error.to_string());
        // One that waits for a person does not fail.
        let counts = demand != Demand::Background && !error.wants_sign_in() && !error.is_for_good();
        let then = match self.settings.life.restart {
            _ if error.wants_sign_in() => Phase::AwaitingSignIn(error.clone()),
            Restart::Never if self.stays_ended() => Phase::Failed(shown.clone()),
            Restart::Never | Restart::Always | Restart::OnFailure => Phase::Stopped,
        };
        // Tried again and again, it fails the same way; once is enough.
        if self.starts().failed(error, counts, &shown, then) {
            tracing::warn!(target: "upstream", upstream = %self.name(), error = shown, "could not connect");
        }
    }

    /// How the server is doing after this.
    pub(crate) fn state_after(&self, error: &ConnectError) -> State {
        let shown = || self.settings.masked(&error.to_string());
        match error.sign_in() {
            Some(AuthError::NeedsSignIn { .. }) => State::NeedsAuth,
            Some(AuthError::NeedsRegistration(_)) => State::NeedsClientRegistration { error: shown() },
            _ => State::Failed { error: shown() },
        }
    }

    async fn open(&self, meeting: &Meeting<'_>) -> Result<(Arc<Connection>, Lists), ConnectError> {
        let known = self.era();
        let met = meeting.meet(known, self.subscribed.clone());
        let (mut connection, mut era) =
            self.within(self.settings.limits.start, "answer the handshake", met).await?;
        if (self.settings.era, known) == (EraChoice::Auto, None)
            && let Some(fuller) = meeting.fuller(&connection, self.subscribed.clone()).await
        {
            era = Some(Era::Legacy);
            let modern = std::mem::replace(&mut connection, fuller);
            // Its goodbye is bounded, and nobody need wait for it.
            tokio::spawn(async move { modern.end().await });
        }
        // What a table fixes need not hold once it does not.
        self.remember_era(era.filter(|_| self.settings.era == EraChoice::Auto));
        let connection = Arc::new(connection);
        if connection.is_modern() {
            // Before the lists are read, so that no change of them is missed.
            connection.listen().await;
        }
        let lists = self.read_lists(&connection).await?;
        // Before anything of it is offered.
        self.see(&lists).await;
        Ok((connection, lists))
    }

    /// What it takes to meet the server, whose clients can do what `profile` says.
    pub(crate) fn meeting(&self, profile: Profile, is_first: bool) -> Meeting<'_> {
        let (settings, world, stderr, confined) = (&self.settings, &self.world, &self.stderr, &self.confined);
        Meeting { settings, world, stderr, confined, profile, is_first, begun: Mutex::default() }
    }

    /// Does the work of `meeting`, or ends what it has begun if the upstream is closed.
    pub(crate) async fn unless_closed<T>(
        &self,
        meeting: &Meeting<'_>,
        work: impl Future<Output = Result<T, ConnectError>>,
    ) -> Result<T, ConnectError> {
        match self.closing.run_until_cancelled(work).await {
            Some(done) => done,
            None => {
                // Whoever waits for this waits for the end of what was begun.
                meeting.end().await;
                Err(ConnectError::Ended)
            }
        }
    }

    pub(crate) async fn within<T>(
        &self,
        limit: Duration,
        what: &'static str,
        work: impl Future<Output = Result<T, ConnectError>>,
    ) -> Result<T, ConnectError> {
        let too_slow = |_| ConnectError::TooSlow { what, limit, stderr: self.stderr.last_line() };
        timeout(limit, work).await.map_err(too_slow)?
    }

    fn log_connected(&self, took: Duration) {
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let offer = self.offers.borrow();
        let (upstream, tools) = (self.name(), offer.tools.len());
        tracing::info!(target: "upstream", %upstream, state = offer.state.to_string(), tools, took_ms, "connected");
    }

    pub(crate) fn log_withheld(&self, offer: &Offer) {
        for withheld in &offer.withheld {
            let (tool, why) = (&withheld.name, &withheld.why);
            tracing::warn!(target: "upstream", upstream = %self.name(), tool, why, "tool withheld");
        }
    }
}

/// How a server is doing that has just been met.
fn state(identity: &ServerIdentity, mask: &Mask) -> State {
    let server = format!("{} {}", identity.server.name, identity.server.version);
    State::Connected { revision: identity.revision, server: mask.sentence(&server, SERVER_BYTES_MAX) }
}

#[cfg(test)]
mod tests {
    use wire::Revision;
    use wire::initialize::Peer;

    use super::*;

    #[test]
    fn a_servers_name_tells_no_secret() {
        let server = Peer { name: "it sk-\n01234567".to_owned(), version: "1".to_owned() };
        let identity =
            ServerIdentity { revision: Revision::MODERN, capabilities: None, server, instructions: None };
        let mask = crate::settings::mask::tests::mask("sk-\n01234567");
        let State::Connected { server, .. } = state(&identity, &mask) else { panic!("it is connected") };
        assert_eq!(server, "it *** 1");
    }
}

//! Staying connected: coming back to a server that ended or was never there, and looking in on one that may have
//! become another without a word.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::sleep;

use super::idle;
use crate::backoff::{self, Chance};
use crate::config::Restart;
use crate::connection::{Connection, Era, Exchange, Notice, Parting};
use crate::error::ConnectError;
use crate::kind::Kind;
use crate::offer::State;
use crate::settings::Endpoint;
use crate::status::LISTS_GOOD_FOR;
use crate::upstream::Upstream;
use crate::upstream::{Demand, Phase, after_failure};

/// A server at an address may be replaced behind our back, and some tell nothing unasked: its lists are read
/// again after about this long.
const LOOK_IN: Duration = Duration::from_secs(5 * 60);

/// However short a time a server says that its lists stay good, they are not read more often than this.
const LOOK_IN_MIN: Duration = Duration::from_secs(60);

impl Upstream {
    /// Connects, however often that takes, and from then on again whenever the connection has ended. Returns when
    /// it is connected for the first time, or never will be.
    pub async fn stay_connected(&self) {
        self.staying.store(true, Ordering::Relaxed);
        come_back(&self.me).await;
    }

    /// True if nothing but a call starts the server, by its table. It need not be connected to for its lists if they
    /// are remembered.
    pub fn starts_on_demand(&self) -> bool {
        self.settings.life.on_demand
    }

    /// True if nothing but a person connects to it again: somebody has to sign in, or it has ended and its table says
    /// `restart = "never"`.
    pub fn awaits_a_person(&self) -> bool {
        matches!(self.starts().phase(), Phase::AwaitingSignIn(_) | Phase::Failed(_))
    }

    /// True if it is not started again after it has ended, until a person says so. A server at an address is not
    /// started here and may only have forgotten our session; whether it is there, the next try shows.
    pub(crate) fn stays_ended(&self) -> bool {
        let is_address = matches!(self.settings.endpoint, Endpoint::Address { .. });
        self.settings.life.restart == Restart::Never && !is_address
    }

    /// True if clients watch something of it, for which it has to be connected.
    pub fn is_watched(&self) -> bool {
        !self.subscribed.is_empty()
    }

    /// True if nobody needs to call for the server to be connected again.
    fn is_wanted(&self) -> bool {
        if !matches!(self.starts().phase(), Phase::Stopped | Phase::Connecting(_) | Phase::Ready) {
            return false;
        }
        // Of one that was never met nothing is known that could be called.
        let is_needed = !self.starts_on_demand() || self.offers.borrow().definitions.is_none();
        (self.staying.load(Ordering::Relaxed) && is_needed) || self.is_watched()
    }

    /// The connection with this exchange is over, after so long. False if the server is left alone.
    pub(crate) fn comes_back(&self, exchange: &Arc<Exchange>, life: Duration) -> bool {
        let ended = exchange.pending.ended();
        if matches!(ended, Some((Parting::Dismissed, _))) {
            return true;
        }
        self.starts().lived(life);
        match ended {
            Some((Parting::Well, _)) if self.settings.life.restart == Restart::OnFailure => {
                self.rest(exchange, "it has ended well");
                return false;
            }
            Some((_, fault)) => self.lose(exchange, &fault),
            None => {}
        }
        true
    }

    /// Ends the connection with this exchange; nothing but a call starts the server again.
    pub(crate) fn rest(&self, exchange: &Arc<Exchange>, why: &str) {
        let Some(connection) = self.let_go(exchange) else { return };
        tracing::info!(target: "upstream", upstream = %self.name(), "{why}; the next call starts it");
        self.say(State::Stopped);
        // Its goodbye is bounded, and nobody need wait for it.
        tokio::spawn(async move { connection.end().await });
    }

    /// After how long the lists are read again though nobody says that they have changed; nothing if they are not.
    fn look_in_after(&self) -> Option<Duration> {
        let ttl_ms = self.offers.borrow().ttl_ms;
        let is_modern = self.era() == Some(Era::Modern);
        let by_ttl = match ttl_ms {
            // A modern server says so of lists that are never good for long.
            0 if is_modern => None,
            0 => Some(LISTS_GOOD_FOR),
            _ => Some(Duration::from_millis(ttl_ms).max(LOOK_IN_MIN)),
        };
        let is_address = matches!(self.settings.endpoint, Endpoint::Address { .. });
        let stays = is_address && self.staying.load(Ordering::Relaxed);
        by_ttl.into_iter().chain(stays.then_some(LOOK_IN)).min()
    }

    /// Looks at all lists again soon.
    fn look_in(&self, exchange: &Exchange) {
        let Some(lists) = self.lists() else { return };
        let kinds = [Kind::Tools, Kind::Prompts, Kind::Resources];
        for kind in kinds.into_iter().filter(|&kind| lists.has(kind)) {
            exchange.hear(Notice::ListChanged(kind));
        }
    }
}

/// Connects again, if the server is to stay connected or somebody waits for its news; everybody else does so with
/// the next call.
pub(crate) async fn come_back(upstream: &Weak<Upstream>) {
    let Some(mut failures) = upstream.upgrade().map(|upstream| upstream.starts().failures()) else { return };
    loop {
        let Some(closing) = upstream.upgrade().map(|upstream| upstream.closing.clone()) else { return };
        tokio::select! {
            () = sleep(backoff::wait(failures, Chance::draw())) => {}
            () = closing.cancelled() => return,
        }
        let Some(upstream) = upstream.upgrade().filter(|upstream| upstream.is_wanted()) else {
            return;
        };
        match upstream.connected(Demand::Background).await {
            Ok(_) => return,
            Err(error) if error.is_for_good() => return,
            Err(ConnectError::NotRestarted { .. }) => return,
            Err(error) if error.wants_sign_in() => return,
            Err(_) => failures = after_failure(failures),
        }
    }
}

/// Looks in on a server now and then: when its lists are not known to be good any more, and earlier on one at an
/// address that is to stay connected.
pub(crate) async fn look_in(upstream: &Weak<Upstream>, exchange: &Exchange) {
    loop {
        let Some(after) = upstream.upgrade().map(|upstream| upstream.look_in_after()) else { return };
        sleep(Chance::draw().shorten(after.unwrap_or(LISTS_GOOD_FOR))).await;
        let Some(upstream) = upstream.upgrade() else { return };
        // It may say another time now than it did when the wait began.
        if after.is_some() && upstream.look_in_after().is_some() {
            upstream.look_in(exchange);
        }
    }
}

/// Resolves when nobody has used the connection for as long as the table says, after which it takes no more calls.
pub(crate) async fn idle(upstream: &Weak<Upstream>, connection: &Weak<Connection>, exchange: &Arc<Exchange>) {
    let Some(limit) = upstream.upgrade().and_then(|upstream| upstream.settings.life.idle) else {
        return std::future::pending().await;
    };
    let has_others = |upstream: &Upstream| upstream.is_watched() || !upstream.pool.slots().is_empty();
    let is_busy =
        || idle::is_used(connection) || upstream.upgrade().is_some_and(|upstream| has_others(&upstream));
    idle::idle(limit, exchange, is_busy).await;
}

//! Looking after connections: reading lists again when they changed, passing on news, ending what nobody uses, noticing
//! the end, and coming back to a server that ended or was never there.
//!
//! Whether a connection is used is not noted on the way of a call. Whoever wants to know looks now and then at how many
//! calls there have been.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::renew::renew;
use crate::backoff::{self, chance};
use crate::config::Restart;
use crate::connection::{Connection, Exchange, Notice, Parting};
use crate::error::ConnectError;
use crate::kind::Kind;
use crate::offer::State;
use crate::settings::Endpoint;
use crate::status::LISTS_GOOD_FOR;
use crate::upstream::{Demand, Phase, Upstream, after_failure};

/// Servers announce several changes at once; they are answered by one look.
const REFRESH_DELAY: Duration = Duration::from_millis(100);

/// Changes that come sooner than this after a look make the next look wait twice as long as the last.
const QUIET: Duration = Duration::from_secs(1);

/// However often a server says that its lists change, they are looked at after this long.
const REFRESH_DELAY_MAX: Duration = Duration::from_secs(2);

/// A disk that is full or busy may not be for long.
const SEE_AGAIN: Duration = Duration::from_secs(2);

/// How often in a row a list is read again that could not be read.
const RETRIES_MAX: u32 = 5;

/// A server at an address may be replaced behind our back, and some tell nothing unasked: its lists are read
/// again after about this long.
const LOOK_IN: Duration = Duration::from_secs(5 * 60);

/// However short a time a server says that its lists stay good, they are not read more often than this unless somebody
/// lists.
const LOOK_IN_MIN: Duration = Duration::from_secs(60);

/// How often it is looked within the time that a connection may be idle; it is ended up to this part of it late.
const LOOKS: u32 = 8;

/// The shortest time between two looks.
const LOOK_MIN: Duration = Duration::from_millis(10);

/// Looks after the connection with `exchange` until it is closed. Holds neither the upstream nor the
/// connection, so that both can be let go.
pub(crate) async fn tend(upstream: Weak<Upstream>, connection: Weak<Connection>, exchange: Arc<Exchange>) {
    let begun = Instant::now();
    let work = async {
        tokio::join!(
            watch_again(&connection),
            look_in(&upstream, &exchange),
            refresh(&upstream, &exchange),
            see_again(&upstream),
            renew(&upstream),
            pass_on(&upstream, &connection, &exchange)
        )
    };
    let is_idle = tokio::select! {
        () = idle(&upstream, &connection, &exchange) => true,
        _ = work => false,
        () = exchange.pending.closed.cancelled() => false,
    };
    let Some(me) = upstream.upgrade() else { return };
    if is_idle {
        return me.rest(&exchange, "stopped, since nobody used it");
    }
    if me.comes_back(&exchange, begun.elapsed()) {
        drop(me);
        come_back(&upstream).await;
    }
}

/// Watches on a legacy connection what was watched on the one before; a modern one does so by itself.
async fn watch_again(connection: &Weak<Connection>) {
    if let Some(connection) = connection.upgrade().filter(|connection| !connection.is_modern()) {
        connection.listen().await;
    }
}

/// Reads lists again when they changed, many changes together, and a few times more if that fails.
async fn refresh(upstream: &Weak<Upstream>, exchange: &Exchange) {
    let (mut delay, mut looked, mut failures): (_, Option<Instant>, u32) = (REFRESH_DELAY, None, 0);
    loop {
        exchange.notices.change().await;
        let is_quiet = looked.is_none_or(|looked| looked.elapsed() >= QUIET);
        delay = if is_quiet { REFRESH_DELAY } else { (delay * 2).min(REFRESH_DELAY_MAX) };
        sleep(delay).await;
        let changed = exchange.notices.take_changed();
        let Some(upstream) = upstream.upgrade() else { return };
        let mut has_failed = false;
        for kind in changed {
            if !upstream.refresh(kind).await {
                has_failed = true;
                if failures < RETRIES_MAX {
                    exchange.notices.hear(Notice::ListChanged(kind));
                }
            }
        }
        failures = if has_failed && failures < RETRIES_MAX { failures + 1 } else { 0 };
        looked = Some(Instant::now());
    }
}

/// Holds the lists against what was accepted once more after that could not be read or kept.
async fn see_again(upstream: &Weak<Upstream>) {
    loop {
        let Some(pins) = upstream.upgrade().map(|upstream| upstream.pins.clone()) else { return };
        pins.failed().await;
        sleep(SEE_AGAIN).await;
        let Some(upstream) = upstream.upgrade() else { return };
        upstream.take_up_decisions().await;
    }
}

/// Passes on what is told of single things.
pub(crate) async fn pass_on(upstream: &Weak<Upstream>, connection: &Weak<Connection>, exchange: &Exchange) {
    loop {
        for notice in exchange.notices.news().await {
            if let (Notice::Task { id, params }, Some(connection)) = (&notice, connection.upgrade()) {
                connection.note_task(id, params);
            }
            let Some(upstream) = upstream.upgrade() else { return };
            upstream.tell(notice);
        }
    }
}

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
        let by_ttl = match self.offers.borrow().ttl_ms {
            // Lists that are never good for long are read when somebody lists.
            Some(0) => None,
            Some(ttl_ms) => Some(Duration::from_millis(ttl_ms).max(LOOK_IN_MIN)),
            None => Some(LISTS_GOOD_FOR),
        };
        let is_address = matches!(self.settings.endpoint, Endpoint::Address { .. });
        let stays = is_address && self.staying.load(Ordering::Relaxed);
        by_ttl.into_iter().chain(stays.then_some(LOOK_IN)).min()
    }

    /// Looks at all lists again soon.
    fn look_in(&self, exchange: &Exchange) {
        let Some(lists) = self.lists() else { return };
        for kind in Kind::REFRESHED.into_iter().filter(|&kind| lists.has(kind)) {
            exchange.notices.hear(Notice::ListChanged(kind));
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
            () = sleep(backoff::wait(failures, chance())) => {}
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
        sleep(backoff::shortened(after.unwrap_or(LISTS_GOOD_FOR), chance())).await;
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
    let is_busy = || is_used(connection) || upstream.upgrade().is_some_and(|upstream| has_others(&upstream));
    unused(limit, exchange, is_busy).await;
}

/// Resolves when the connection has had nothing to do for `limit`. It then takes no more calls: one that comes at this
/// very moment is told that it was not sent. `is_busy` knows what keeps it besides its calls.
pub(crate) async fn unused(limit: Duration, exchange: &Exchange, is_busy: impl Fn() -> bool) {
    let look = (limit / LOOKS).max(LOOK_MIN);
    let (mut since, mut seen) = (Instant::now(), exchange.pending.idle_after());
    loop {
        let left = limit.saturating_sub(since.elapsed());
        sleep(left.min(look).max(Duration::from_millis(1))).await;
        let calls = exchange.pending.idle_after();
        let Some(unchanged) = calls.filter(|_| calls == seen && !is_busy()) else {
            (since, seen) = (Instant::now(), calls);
            continue;
        };
        if since.elapsed() >= limit && exchange.pending.end_idle(unchanged) {
            return;
        }
    }
}

/// True if somebody uses the connection, or it is gone: whoever has a call under way on one holds it until that is
/// done. Its keeper and this look hold it, too.
pub(crate) fn is_used(connection: &Weak<Connection>) -> bool {
    connection.upgrade().is_none_or(|open| Arc::strong_count(&open) > 2 || open.is_kept())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use bytes::Bytes;

    use super::*;
    use crate::connection::Caller;
    use crate::fault::Fault;

    fn caller() -> Option<Caller> {
        let capabilities = Bytes::from_static(b"{}");
        Some(Caller {
            conversation: 1,
            capabilities,
            log_level: None,
            may_be_asked: true,
            habit: None,
            listener: None,
        })
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_calls_or_keeps_it_begins_the_time_anew() {
        let exchange = Exchange::untraced();
        let limit = Duration::from_secs(80);
        let (begun, kept) = (Instant::now(), Cell::new(false));
        let mut idle = Box::pin(super::unused(limit, &exchange, || kept.get()));
        let mut ends_within =
            async |wait_s: u64| tokio::time::timeout(Duration::from_secs(wait_s), &mut idle).await.is_ok();
        assert!(!ends_within(79).await);
        let call = exchange.begin(caller()).expect("open");
        // The call takes its time.
        assert!(!ends_within(200).await);
        drop(call);
        // Requests of our own are nobody's.
        drop(exchange.begin(None).expect("open"));
        assert!(!ends_within(69).await, "after its end the time begins anew");
        kept.set(true);
        assert!(!ends_within(100).await);
        kept.set(false);
        assert!(ends_within(100).await);
        assert!(begun.elapsed() < Duration::from_secs(79 + 200 + 69 + 100 + 91));
        assert!(matches!(exchange.begin(caller()), Err(Fault::NotSent(_))));
        assert!(exchange.pending.closed.is_cancelled());
    }
}

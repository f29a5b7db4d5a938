//! Ending a server, and letting go of connections that are of no use. When one that is draining is ended is for
//! whoever keeps it to say.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;

use crate::connection::{Connection, Exchange};
use crate::error::ConnectError;
use crate::fault::Fault;
use crate::offer::State;
use crate::upstream::{Demand, Opened, Phase, Upstream};

/// How long `Upstream::end` waits at most.
pub const END_TIMEOUT: Duration = Duration::from_millis(2_500);

impl Upstream {
    /// Starts or dials the server, if it is not connected, and reads its lists. However many ask, it happens
    /// once, and goes on if they give up.
    ///
    /// # Errors
    /// If it cannot be connected to; `offers` then says so too. Unlike a call, this tries at once even
    /// after repeated failures.
    pub async fn connect(&self) -> Result<(), ConnectError> {
        let _counted = self.count_call();
        self.connected(Demand::Person).await?;
        self.breaker.succeeded();
        Ok(())
    }

    /// Takes no more calls, which are told that it has left; those that the server has seen go on. A start under way is
    /// given up.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.starts().drain();
        self.closing.cancel();
    }

    /// Ends the server for good: nothing starts it again. Calls under way are lost. Waits for the program's
    /// end, but never longer than [`END_TIMEOUT`]; what is left then ends by itself.
    pub async fn end(&self) {
        self.close();
        self.pins.leave();
        // A start under way hears `closing`, and cannot become live any more.
        let (mut open, mut under_way) = (Vec::from_iter(self.live.swap(None)), Vec::new());
        for slot in std::mem::take(&mut *self.pool.slots()) {
            match slot.opened {
                Opened::Now(connection) => open.push(connection),
                Opened::Soon(attempt) => under_way.push(attempt),
            }
        }
        under_way.extend(self.starts().close());
        let ends = join_all(open.iter().map(|connection| connection.end()));
        let ending = async { tokio::join!(ends, join_all(under_way)) };
        let _ = tokio::time::timeout(END_TIMEOUT, ending).await;
        self.say(State::Stopped);
    }

    /// A connection for a call.
    pub(crate) async fn connection(&self) -> Result<Arc<Connection>, ConnectError> {
        if self.is_closed.load(Ordering::SeqCst) {
            return Err(ConnectError::Ended);
        }
        self.connected(Demand::Call).await
    }

    /// Lets go of a connection that is of no use, unless another one has taken its place.
    /// From then on the server is in this state.
    pub(crate) fn give_up(&self, exchange: &Arc<Exchange>, state: State) {
        if self.closing.is_cancelled() {
            return;
        }
        if self.let_go(exchange).is_none() {
            drop(self.pool.take(exchange));
            return;
        }
        let error = state.to_string();
        tracing::warn!(target: "upstream", upstream = %self.name(), state = error, "connection lost");
        if self.stays_ended() {
            self.starts().settle(Phase::Failed(state.error().unwrap_or(&error).to_owned()));
        }
        self.say(state);
    }

    /// Lets go of a connection that has shown itself to be of no use.
    pub(crate) fn lose(&self, exchange: &Arc<Exchange>, fault: &Fault) {
        if matches!(fault, Fault::SignIn(error) if error.needs_a_person()) {
            let error = ConnectError::Request(fault.clone());
            self.give_up(exchange, self.state_after(&error));
            self.starts().settle(Phase::AwaitingSignIn(error));
        } else {
            self.give_up(exchange, State::Failed { error: self.settings.masked(&fault.to_string()) });
        }
    }

    /// Lets go of the first connection if it is the one with this exchange.
    pub(crate) fn let_go(&self, exchange: &Arc<Exchange>) -> Option<Arc<Connection>> {
        let current = self.live.load_full().filter(|live| Arc::ptr_eq(live.exchange(), exchange))?;
        self.live.compare_and_swap(&current, None);
        self.starts().settle(Phase::Stopped);
        Some(current)
    }

    /// Takes the place of `before`: what clients watch there is watched on if it is the same server. A call that waits
    /// there for its client has to be made anew.
    pub fn follow(&self, before: &Arc<Upstream>) {
        if self.fingerprint() == before.fingerprint() {
            self.subscribed.take_over(&before.subscribed);
        }
        self.pins.take_over(&before.pins);
    }

    /// True if calls are under way, or wait for the start of the server. Those that wait for their clients do not
    /// count.
    pub fn has_calls(&self) -> bool {
        let is_busy = |open: &Arc<Connection>| {
            open.exchange().pending.idle_after().is_none() && open.suspended.is_empty()
        };
        self.calls.load(Ordering::Relaxed) > 0 || self.connections().iter().any(is_busy)
    }

    /// The connection on which a call waits that is named so.
    pub(crate) fn suspended_at(&self, state: &str) -> Option<Arc<Connection>> {
        let mut open = self.connections().into_iter();
        open.find(|open| !open.exchange().pending.closed.is_cancelled() && open.suspended.has(state))
    }

    fn connections(&self) -> Vec<Arc<Connection>> {
        self.live.load_full().into_iter().chain(self.pool.open()).collect()
    }
}

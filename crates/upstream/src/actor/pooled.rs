//! Opening connections beside the first, and looking after them.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::Instant;
use tool_api::{Cancel, Context};

use super::{idle, tend};
use crate::backoff::Chance;
use crate::config::Isolation;
use crate::connection::{Answer, Connection, Era, Exchange, Parting, Subscribed};
use crate::error::ConnectError;
use crate::handshake::Meeting;
use crate::profiles::Profile;
use crate::settings::Endpoint;
use crate::upstream::{Attempt, Key, Opened, Pool, Slot, Upstream, Whose};

/// One that nobody has used for so long is ended, unless the table says another time.
const IDLE: Duration = Duration::from_secs(5 * 60);

/// The same when the conversation that it was for is over.
const IDLE_ONCE_OVER: Duration = Duration::from_millis(500);

/// How long a session that nobody asked for may take to open. A server that bears only one may never answer.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);

impl Upstream {
    /// Lets go of the connection with this exchange beside the first, and returns it. `error` says how it has ended, if
    /// that was not ours to decide.
    pub(crate) fn give_up_pooled(
        &self,
        exchange: &Arc<Exchange>,
        error: Option<&str>,
    ) -> Option<Arc<Connection>> {
        let mut slots = self.pool.slots();
        let is_it =
            |slot: &Slot| slot.connection().is_some_and(|open| Arc::ptr_eq(open.exchange(), exchange));
        let at = slots.iter().position(is_it)?;
        let slot = slots.swap_remove(at);
        if let Some(error) = error {
            self.note_ended(&slot, error);
        }
        slot.connection().cloned()
    }

    /// A connection has ended by itself. Whoever has none of their own is not kept from the server by that.
    fn note_ended(&self, slot: &Slot, error: &str) {
        let is_dismissed = slot.connection().is_some_and(|it| it.exchange().parting() == Parting::Dismissed);
        if self.stays_ended() && !is_dismissed {
            self.pool.ended.note(&slot.key.whose, error);
        }
    }

    /// Refuses the connection of one whose last has ended and is not to be opened again by itself.
    fn check_ended(&self, slots: &[Slot], whose: &Whose) -> Result<(), ConnectError> {
        if !self.stays_ended() {
            return Ok(());
        }
        for slot in slots {
            // Nobody has noticed yet.
            if let Some(fault) = slot.connection().and_then(|it| it.exchange().end_fault()) {
                self.note_ended(slot, &self.settings.masked(&fault.to_string()));
            }
        }
        self.pool.ended.check(whose)
    }

    /// A connection for this call.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) async fn connection_for(&self, cx: &Context) -> Result<Arc<Connection>, ConnectError> {
        let client = cx.client();
        let whose = match self.settings.life.isolation {
            Isolation::Shared => return self.shared_for(&client.capabilities).await,
            Isolation::Session if client.conversation != 0 => {
                if let Some(holder) = self.holder(cx) {
                    return Ok(holder);
                }
                Whose::Conversation(client.conversation)
            }
            Isolation::Session | Isolation::Caller => Whose::Caller(client.caller.clone()),
        };
        let profile = |is_modern| if is_modern { Profile::ALL } else { Profile::of(&client.capabilities) };
        let mut key = Key { whose, profile: profile(self.era() == Some(Era::Modern)) };
        if let Some(open) = self.pool.open(&key) {
            return Ok(open);
        }
        // Which tools there are, and which era it is of, is known from the first one.
        key.profile = profile(self.connection().await?.is_modern());
        let over = client.over.clone().filter(|_| matches!(key.whose, Whose::Conversation(_)));
        self.pooled(key, self.settings.limits.start, over).await
    }

    /// A connection for a client with these `ClientCapabilities`, where everybody shares them.
    async fn shared_for(&self, capabilities: &[u8]) -> Result<Arc<Connection>, ConnectError> {
        let (first, pool) = (self.connection().await?, &self.pool);
        if !pool.wanted.load(Ordering::Relaxed) || !pool.may_open() {
            return Ok(first);
        }
        let has_sessions = matches!(self.settings.endpoint, Endpoint::Address { .. });
        let profile = Profile::of(capabilities);
        if first.is_modern() || !has_sessions || profile == Profile::ALL {
            return Ok(first);
        }
        match self.pooled(Key { whose: Whose::Everybody, profile }, OPEN_TIMEOUT, None).await {
            Ok(connection) => Ok(connection),
            Err(ConnectError::Crowded) => Ok(first),
            Err(error) => {
                *pool.refused() = Some(Instant::now());
                let error = self.settings.masked(&error.to_string());
                tracing::warn!(target: "upstream", upstream = %self.name(), error, "it bears only one session, which declares more than some clients can do");
                Ok(first)
            }
        }
    }

    /// The connection for this key, opened by a task of its own if there is none: a caller that gives up must not end
    /// it for the others.
    async fn pooled(
        &self,
        key: Key,
        limit: Duration,
        over: Option<Cancel>,
    ) -> Result<Arc<Connection>, ConnectError> {
        let attempt = {
            let mut slots = self.pool.slots();
            if self.closing.is_cancelled() {
                return Err(ConnectError::Ended);
            }
            self.check_ended(&slots, &key.whose)?;
            match Pool::find(&mut slots, &key) {
                Some(attempt) => attempt,
                None => {
                    self.pool.backoff().check(Instant::now())?;
                    let me = self.me.upgrade().ok_or(ConnectError::Ended)?;
                    if let Some(unused) = Pool::make_room(&mut slots)? {
                        // Its goodbye is bounded, and nobody need wait for it.
                        tokio::spawn(async move { unused.end().await });
                    }
                    let attempt = begin(me, key.clone(), limit, over);
                    slots.push(Slot { key, opened: Opened::Soon(attempt.clone()), used: Instant::now() });
                    attempt
                }
            }
        };
        attempt.await
    }

    async fn open_pooled(
        &self,
        key: Key,
        limit: Duration,
        over: Option<Cancel>,
    ) -> Result<Arc<Connection>, ConnectError> {
        // Changes of lists and resources are heard on the first one.
        let unwatched: Arc<Subscribed> = Arc::default();
        let meeting = Meeting { profile: key.profile, is_first: false, ..self.meeting(&unwatched) };
        let known = if key.whose == Whose::Everybody { Some(Era::Legacy) } else { self.era() };
        let opened = tokio::select! {
            met = self.within(limit, "answer the handshake", meeting.meet(known)) => met.map(|met| Arc::new(met.0)),
            () = self.closing.cancelled() => {
                meeting.end().await;
                Err(ConnectError::Ended)
            }
        };
        let mut slots = self.pool.slots();
        let at = slots.iter().position(|slot| slot.key == key && slot.connection().is_none());
        // Nobody may want it any more.
        let at = at.ok_or(ConnectError::Ended)?;
        match opened {
            Ok(connection) => {
                slots[at].opened = Opened::Now(connection.clone());
                drop(slots);
                self.pool.backoff().succeeded();
                // Owned by the connection's exchange: it ends when that is closed.
                tokio::spawn(tend_pooled(self.me.clone(), connection.clone(), over));
                Ok(connection)
            }
            Err(error) => {
                let slot = slots.swap_remove(at);
                drop(slots);
                if error != ConnectError::Ended && !error.wants_sign_in() {
                    self.note_ended(&slot, &self.settings.masked(&error.to_string()));
                }
                if key.whose != Whose::Everybody && !error.wants_sign_in() {
                    self.pool.backoff().failed(&error, Instant::now(), Chance::draw());
                }
                Err(error)
            }
        }
    }

    /// The connection of another conversation that has to go on with this call, or has its task: a modern client may
    /// come back in a conversation of its own.
    fn holder(&self, cx: &Context) -> Option<Arc<Connection>> {
        let state = cx.input().and_then(|input| input.state.as_deref());
        self.pool.holders.of(cx.key().or(state)?)
    }

    /// Takes note of what only the server behind this connection knows of.
    pub(crate) fn note_holder(&self, connection: &Arc<Connection>, answer: &Answer) {
        if self.settings.life.isolation == Isolation::Session
            && connection.is_modern()
            && let Answer::Result(result) = answer
            && let Some(result) = result.object()
        {
            let named = ["requestState", "taskId"].into_iter().filter_map(|name| result.string(name));
            named.for_each(|it| self.pool.holders.note(&it, connection));
        }
    }
}

/// Begins to open a connection.
fn begin(upstream: Arc<Upstream>, key: Key, limit: Duration, over: Option<Cancel>) -> Attempt {
    let (weak, named) = (upstream.me.clone(), key.clone());
    // Owned by the attempt; bounded by its limit.
    let task = tokio::spawn(async move { upstream.open_pooled(key, limit, over).await });
    let attempt = async move {
        task.await.unwrap_or_else(|_| {
            // It panicked; the next one who asks begins anew.
            if let Some(upstream) = weak.upgrade() {
                upstream.pool.forget(&named);
            }
            Err(ConnectError::Ended)
        })
    };
    attempt.boxed().shared()
}

/// Looks after a connection until it is over, and ends it when nobody has used it for a while, or nobody will.
async fn tend_pooled(upstream: Weak<Upstream>, connection: Arc<Connection>, over: Option<Cancel>) {
    let limit = upstream.upgrade().and_then(|upstream| upstream.settings.life.idle).unwrap_or(IDLE);
    let exchange = connection.exchange().clone();
    if connection.is_modern() {
        connection.listen().await;
    }
    let connection = {
        let held = connection;
        Arc::downgrade(&held)
    };
    let is_used = || idle::is_used(&connection);
    let left = async {
        match &over {
            Some(over) => over.cancelled().await,
            None => std::future::pending().await,
        }
        idle::idle(limit.min(IDLE_ONCE_OVER), &exchange, is_used).await;
    };
    tokio::select! {
        () = idle::idle(limit, &exchange, is_used) => {}
        () = left => {}
        () = tend::pass_on(&upstream, &connection, &exchange) => {}
        () = exchange.closed().cancelled() => {}
    }
    let Some(upstream) = upstream.upgrade() else { return };
    let fault = exchange.end_fault().map(|fault| upstream.settings.masked(&fault.to_string()));
    let kept = upstream.give_up_pooled(&exchange, fault.as_deref());
    if let (Parting::ByItself, Some(error)) = (exchange.parting(), fault) {
        tracing::warn!(target: "upstream", upstream = %upstream.name(), error, "connection lost");
    }
    if let Some(connection) = kept {
        drop(upstream);
        connection.end().await;
    }
}

//! Opening connections beside the first, and looking after them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::Instant;
use tool_api::{Cancel, Context};

use super::tend;
use crate::config::Isolation;
use crate::connection::{Connection, Era, Parting};
use crate::error::ConnectError;
use crate::profiles::Profile;
use crate::settings::Endpoint;
use crate::upstream::{Demand, Key, Opened, Pool, Slot, Upstream, Whose, attempt};

/// One that nobody has used for so long is ended, unless the table says another time.
const IDLE: Duration = Duration::from_secs(5 * 60);

/// The same when the conversation that it was for is over.
const IDLE_ONCE_OVER: Duration = Duration::from_millis(500);

/// How long a session that nobody asked for may take to open. A server that bears only one may never answer.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);

impl Upstream {
    /// The connection that the calls of this client go over, and whose it is; `asks` says of which that they are known to
    /// ask.
    pub(super) async fn usual(
        &self,
        cx: &Context,
        asks: bool,
    ) -> Result<(Arc<Connection>, Key), ConnectError> {
        let client = &cx.client;
        let (whose, over) = match (self.settings.life.isolation, client.over.clone()) {
            (Isolation::Shared, _) => return self.shared_for(&client.capabilities, asks).await,
            (Isolation::Session, over @ Some(_)) => (Whose::Conversation(client.conversation), over),
            // A client that has no sessions is in one with all that its caller sends.
            (Isolation::Session, None) | (Isolation::Caller, _) => {
                (Whose::Caller(client.caller.clone()), None)
            }
        };
        let profile = |is_modern| if is_modern { Profile::ALL } else { Profile::of(&client.capabilities) };
        let mut key = Key { whose, profile: profile(self.era() == Some(Era::Modern)), number: 0 };
        if let Some(Opened::Now(open)) = Pool::find(&mut self.pool.slots(), &key) {
            return Ok((open, key));
        }
        // Which tools there are, and which era it is of, is known from the first one.
        key.profile = profile(self.connection().await?.is_modern());
        Ok((self.pooled(key.clone(), over).await?, key))
    }

    /// A connection for a client with these `ClientCapabilities`, where everybody shares them.
    async fn shared_for(
        &self,
        capabilities: &[u8],
        asks: bool,
    ) -> Result<(Arc<Connection>, Key), ConnectError> {
        let first = self.connection().await?;
        let key = Key { whose: Whose::Everybody, profile: Profile::ALL, number: 0 };
        let profile = Profile::of(capabilities);
        // A program may remember what calls have done, so only those that ask go elsewhere.
        let may_go = asks || matches!(self.settings.endpoint, Endpoint::Address { .. });
        if !may_go || first.is_modern() || !self.pool.is_truthful() || profile == Profile::ALL {
            return Ok((first, key));
        }
        let of_its_own = Key { profile, ..key.clone() };
        match self.pooled(of_its_own.clone(), None).await {
            Err(ConnectError::Crowded) => Ok((first, key)),
            Err(error) => {
                self.pool.refused();
                let error = self.settings.masked(&error.to_string());
                tracing::warn!(target: "upstream", upstream = %self.name(), error, "it bears only one session, which declares more than some clients can do");
                Ok((first, key))
            }
            Ok(open) => Ok((open, of_its_own)),
        }
    }

    /// The connection for this key, opened if there is none.
    pub(super) async fn pooled(
        &self,
        key: Key,
        over: Option<Cancel>,
    ) -> Result<Arc<Connection>, ConnectError> {
        let attempt = {
            let mut slots = self.pool.slots();
            if self.closing.is_cancelled() {
                return Err(ConnectError::Ended);
            }
            match Pool::find(&mut slots, &key) {
                Some(Opened::Now(open)) => return Ok(open),
                Some(Opened::Soon(attempt)) => attempt,
                None => {
                    self.starts().check(Demand::Call, Instant::now())?;
                    let me = self.me.upgrade().ok_or(ConnectError::Ended)?;
                    if let Some(unused) = Pool::make_room(&mut slots)? {
                        // Its goodbye is bounded, and nobody need wait for it.
                        tokio::spawn(async move { unused.end().await });
                    }
                    let (weak, own) = (self.me.clone(), key.clone());
                    let panicked = move || drop(weak.upgrade().map(|upstream| upstream.take_start(&own)));
                    let own = key.clone();
                    let attempt = attempt(async move { me.open_pooled(own, over).await }, panicked);
                    let opened = Opened::Soon(attempt.clone());
                    slots.push(Slot { key, opened, used: Instant::now() });
                    attempt
                }
            }
        };
        attempt.await
    }

    /// Takes out the start for this key; nothing if nobody wants it any more.
    fn take_start(&self, key: &Key) -> Option<Slot> {
        let mut slots = self.pool.slots();
        let at = slots.iter().position(|slot| slot.key == *key && slot.connection().is_none())?;
        Some(slots.swap_remove(at))
    }

    async fn open_pooled(&self, key: Key, over: Option<Cancel>) -> Result<Arc<Connection>, ConnectError> {
        let meeting = self.meeting(key.profile, false);
        // Changes of lists and resources are heard on the first one.
        let met = meeting.meet(self.era(), Arc::default());
        let is_asked_for = key.whose != Whose::Everybody;
        let is_address = matches!(self.settings.endpoint, Endpoint::Address { .. });
        let limit = if is_asked_for || !is_address { self.settings.limits.start } else { OPEN_TIMEOUT };
        let opened = self.within(limit, "answer the handshake", met);
        let opened = self.unless_closed(&meeting, opened).await.map(|(connection, _)| Arc::new(connection));
        let slot = self.take_start(&key).ok_or(ConnectError::Ended)?;
        match &opened {
            Ok(connection) => {
                self.pool.slots().push(Slot { opened: Opened::Now(connection.clone()), ..slot });
                self.starts().pooled(None);
                // Owned by the connection's exchange: it ends when that is closed.
                tokio::spawn(tend_pooled(self.me.clone(), connection.clone(), over));
            }
            Err(error) if error.wants_sign_in() || !is_asked_for => {}
            Err(error) => self.starts().pooled(Some(error)),
        }
        opened
    }
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
    let is_used = || tend::is_used(&connection);
    let unused_once_over = async {
        match &over {
            Some(over) => over.cancelled().await,
            None => std::future::pending().await,
        }
        tend::unused(limit.min(IDLE_ONCE_OVER), &exchange, is_used).await;
    };
    tokio::select! {
        () = tend::unused(limit, &exchange, is_used) => {}
        () = unused_once_over => {}
        () = tend::pass_on(&upstream, &connection, &exchange) => {}
        () = exchange.pending.closed.cancelled() => {}
    }
    let Some(upstream) = upstream.upgrade() else { return };
    if let Some((Parting::ByItself, fault)) = exchange.pending.ended() {
        let error = upstream.settings.masked(&fault.to_string());
        tracing::warn!(target: "upstream", upstream = %upstream.name(), error, "connection lost");
    }
    if let Some(connection) = upstream.pool.take(&exchange) {
        drop(upstream);
        connection.end().await;
    }
}

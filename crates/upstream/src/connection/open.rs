//! `Connection`: one open way to a server that has been met.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tool_api::Context;
use wire::initialize::Welcome as ServerIdentity;
use wire::message::Text;
use wire::{LogLevel, Object};

use super::call::Call;
use super::caller::log_level;
use super::envelope::Envelope;
use super::exchange::Exchange;
use super::listen::Listening;
use super::pending::Reply;
use super::subscribed::Subscribed;
use super::suspended::SuspendedCalls;
use super::transport::Transport;
use crate::fault::Fault;

/// How long a server may take to take note of the level of log messages.
const LEVEL_TIMEOUT: Duration = Duration::from_secs(2);

/// An open way to a server that has been met. Dropping it closes it; `end` closes it and waits.
pub(crate) struct Connection {
    pub(crate) transport: Arc<Transport>,
    /// What the server says of itself.
    pub(crate) identity: ServerIdentity,
    pub(super) envelope: Envelope,
    /// Calls that wait for their clients.
    pub(crate) suspended: Arc<SuspendedCalls>,
    /// The most verbose level that a legacy server has been told.
    pub(super) level: Mutex<Option<LogLevel>>,
    pub(super) subscribed: Arc<Subscribed>,
    pub(super) listening: Arc<Listening>,
    /// The task that keeps the subscription of a modern connection; ends with this.
    pub(super) keeper: std::sync::Mutex<JoinSet<()>>,
}

impl Connection {
    /// A connection to a server that has been met.
    pub(crate) fn new(
        transport: Arc<Transport>,
        identity: ServerIdentity,
        ourselves: String,
        subscribed: Arc<Subscribed>,
    ) -> Connection {
        let (suspended, level) = (Arc::default(), Mutex::default());
        let (listening, keeper) = (Arc::default(), std::sync::Mutex::default());
        let envelope = Envelope::new(identity.revision, ourselves);
        Connection { transport, identity, envelope, suspended, level, subscribed, listening, keeper }
    }

    /// The messages under way.
    pub(crate) fn exchange(&self) -> &Arc<Exchange> {
        &self.transport.exchange
    }

    /// True if every request says what it needs.
    pub(crate) fn is_modern(&self) -> bool {
        self.identity.revision.is_modern()
    }

    /// What the server declares under `name`, if that is an object.
    pub(super) fn capability(&self, name: &str) -> Option<Object<'_>> {
        self.identity.capabilities.as_ref().and_then(Text::object)?.object(name)
    }

    /// Tells a legacy server that this call wants more log messages than any before.
    pub(super) async fn tell_level(&self, cx: &Context) {
        let Some(wanted) =
            log_level(cx).filter(|_| !self.is_modern() && self.capability("logging").is_some())
        else {
            return;
        };
        // Held until the server has heard it: whoever wants no more begins then.
        let mut level = self.level.lock().await;
        if level.is_some_and(|known| known <= wanted) {
            return;
        }
        let params = format!("{{\"level\":\"{}\"}}", wanted.name());
        let telling = async { self.own("logging/setLevel", params.as_bytes())?.answer().await };
        // A server that does not listen sends what it likes; what is not wanted is not passed on.
        if !matches!(timeout(LEVEL_TIMEOUT, telling).await, Ok(Ok(Ok(_)))) {
            tracing::debug!(target: "upstream", upstream = %self.transport.exchange.upstream, "it did not take note of the log level");
        }
        *level = Some(wanted);
    }

    /// True if the server keeps something here that must not be lost, though no call is under way: a call that waits
    /// for its client, or a task.
    pub(crate) fn is_kept(&self) -> bool {
        !self.suspended.is_empty() || self.listening.follows_any()
    }

    /// Sends a request of our own; `params` is the text of an object without `_meta`.
    fn own(&self, method: &'static str, params: &[u8]) -> Result<Call, Fault> {
        let params = self.envelope.put(params.to_vec(), None, None, 0);
        Call::ask(&self.transport, method, &params, self.is_modern())
    }

    /// Closes the connection and waits until nothing is left of it, for a bounded time.
    pub(crate) async fn end(&self) {
        self.transport.end().await;
    }
}

/// Sends a request of our own to a server that has not been met yet, and waits for its answer.
pub(crate) async fn ask(
    transport: &Arc<Transport>,
    method: &'static str,
    params: &[u8],
    modern: bool,
) -> Result<Reply, Fault> {
    Call::ask(transport, method, params, modern)?.answer().await
}

#[cfg(test)]
impl Connection {
    /// A connection over which nothing is sent.
    pub(crate) fn unsent(revision: wire::Revision) -> Arc<Connection> {
        let (server, ourselves) = (wire::initialize::Peer::default(), "{}".to_owned());
        let identity = ServerIdentity { revision, capabilities: None, server, instructions: None };
        Arc::new(Connection::new(Transport::unsent(), identity, ourselves, Arc::default()))
    }
}

//! Getting connected: once for all who ask, within limits, and not again at once after repeated failures.

use std::future::Future;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tokio::time::{Instant, timeout};
use wire::initialize::Welcome;

use crate::backoff::Backoff;
use crate::catalogue;
use crate::connection::Connection;
use crate::error::ConnectError;
use crate::listing::{self, Listed};
use crate::offer::{Offer, State};
use crate::{Upstream, clean, handshake, tend};

/// How long a server may take from its start to the end of the handshake.
pub const START_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a server may take to list its tools.
pub const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// Longest name and version of a server that are shown together, in bytes.
const SERVER_BYTES_MAX: usize = 200;

/// Who wants a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    /// A call: refused while a failing server is left alone.
    Call,
    /// A person or the program's start: tries at once.
    Person,
}

/// A start under way, to be awaited by any number of tasks.
pub(crate) type Attempt = Shared<BoxFuture<'static, Result<Arc<Connection>, ConnectError>>>;

/// The start under way, if there is one, and how the earlier ones went.
#[derive(Default)]
pub(crate) struct Starts {
    attempt: Option<Attempt>,
    backoff: Backoff,
}

impl Starts {
    pub(crate) fn take_attempt(&mut self) -> Option<Attempt> {
        self.attempt.take()
    }
}

impl Upstream {
    /// The live connection, or the next one.
    pub(crate) async fn connected(&self, demand: Demand) -> Result<Arc<Connection>, ConnectError> {
        if let Some(live) = self.live_connection() {
            return Ok(live);
        }
        let attempt = self.attempt(demand)?;
        attempt.await
    }

    fn live_connection(&self) -> Option<Arc<Connection>> {
        self.live.load_full().filter(|live| !live.exchange().closed().is_cancelled())
    }

    pub(crate) fn starts(&self) -> MutexGuard<'_, Starts> {
        self.starts.lock().expect("nothing panics while it holds the lock")
    }

    /// Joins the start under way, or begins one in a task of its own: a caller that gives up must not end
    /// it for the others.
    fn attempt(&self, demand: Demand) -> Result<Attempt, ConnectError> {
        if !self.settings.is_enabled() {
            return Err(ConnectError::Disabled);
        }
        let mut starts = self.starts();
        if self.closing.is_cancelled() {
            return Err(ConnectError::Ended);
        }
        if let Some(attempt) = &starts.attempt {
            return Ok(attempt.clone());
        }
        if let Some(live) = self.live_connection() {
            return Ok(async { Ok(live) }.boxed().shared());
        }
        if demand == Demand::Call {
            starts.backoff.check(Instant::now())?;
        }
        let me = self.me.upgrade().ok_or(ConnectError::Ended)?;
        // Owned by the attempt, which `end` awaits; bounded by its own limits.
        let task = tokio::spawn(async move { me.start().await });
        let me = self.me.clone();
        let attempt = async move {
            task.await.unwrap_or_else(|_| {
                // It panicked; the next one who asks begins anew.
                if let Some(me) = me.upgrade() {
                    me.starts().attempt = None;
                }
                Err(ConnectError::Ended)
            })
        };
        let attempt = attempt.boxed().shared();
        starts.attempt = Some(attempt.clone());
        Ok(attempt)
    }

    /// One start, from the announcement to the result that everybody sees.
    async fn start(self: Arc<Upstream>) -> Result<Arc<Connection>, ConnectError> {
        let begun = Instant::now();
        self.say(State::Connecting);
        let opened = tokio::select! {
            opened = self.open() => opened,
            () = self.closing.cancelled() => Err(ConnectError::Ended),
        };
        let mut starts = self.starts();
        starts.attempt = None;
        match opened {
            Ok(_) if self.closing.is_cancelled() => Err(ConnectError::Ended),
            Ok((connection, welcome, listed)) => {
                starts.backoff.succeeded();
                let connection = Arc::new(connection);
                self.live.store(Some(connection.clone()));
                let offer = self.offer(&welcome, &listed);
                self.log_connected(&offer, begun.elapsed());
                self.offers.send_replace(offer);
                self.next_generation();
                // Owned by the connection's exchange: it ends when that is closed.
                tokio::spawn(tend::tend(self.me.clone(), connection.exchange().clone()));
                Ok(connection)
            }
            Err(error) => {
                starts.backoff.failed(&error, Instant::now());
                if error != ConnectError::Ended {
                    let error = self.settings.masked(&error.to_string());
                    tracing::warn!(target: "upstream", upstream = %self.name(), %error, "could not connect");
                    self.say(State::Failed { error });
                }
                Err(error)
            }
        }
    }

    async fn open(&self) -> Result<(Connection, Welcome, Listed), ConnectError> {
        let connection = Connection::open(&self.settings, &self.world, &self.stderr)?;
        let handshake = handshake::shake(&connection, self.world.ourselves);
        let welcome = self.within(START_TIMEOUT, "answer the handshake", handshake).await?;
        let listed = if welcome.has_tools {
            self.within(LIST_TIMEOUT, "list its tools", listing::fetch(&connection)).await?
        } else {
            Listed::default()
        };
        Ok((connection, welcome, listed))
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

    fn offer(&self, welcome: &Welcome, listed: &Listed) -> Offer {
        let server = format!("{} {}", welcome.server.name, welcome.server.version);
        let server = clean::sentence(&server, SERVER_BYTES_MAX);
        let state = State::Connected { revision: welcome.revision, server };
        catalogue::offer(listed, &self.settings, &self.me, state, true)
    }

    fn log_connected(&self, offer: &Offer, took: Duration) {
        let (upstream, tools) = (self.name(), offer.tools.len());
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        tracing::info!(target: "upstream", %upstream, state = %offer.state, tools, took_ms, "connected");
        self.log_withheld(offer);
    }

    pub(crate) fn log_withheld(&self, offer: &Offer) {
        for withheld in &offer.withheld {
            let (tool, why) = (&withheld.name, &withheld.why);
            tracing::warn!(target: "upstream", upstream = %self.name(), tool, why, "tool withheld");
        }
    }
}

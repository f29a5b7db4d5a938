//! Getting connected: once for all who ask, within limits, and not again at once after repeated failures.

use std::future::Future;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tokio::time::{Instant, timeout};

use crate::backoff::{Backoff, Chance};
use crate::connection::{Connection, Face, Subscribed};
use crate::error::ConnectError;
use crate::handshake::Meeting;
use crate::lists::Lists;
use crate::offer::{Offer, State};
use crate::profiles::Profile;
use crate::stay::Lives;
use crate::{Upstream, clean, tend};

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
    /// Nobody in particular: tries at once, and makes no call wait if it fails.
    Background,
}

/// A start under way, to be awaited by any number of tasks.
pub(crate) type Attempt = Shared<BoxFuture<'static, Result<Arc<Connection>, ConnectError>>>;

/// The start under way, if there is one, and how the earlier ones went.
#[derive(Default)]
pub(crate) struct Starts {
    attempt: Option<Attempt>,
    backoff: Backoff,
    /// What the last one failed with, if it did.
    failure: Option<String>,
    pub(crate) lives: Lives,
}

impl Starts {
    pub(crate) fn take_attempt(&mut self) -> Option<Attempt> {
        self.attempt.take()
    }

    /// True if the last one failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
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

    /// The connection there is, if it is sound.
    pub(crate) fn live_connection(&self) -> Option<Arc<Connection>> {
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
        let task = tokio::spawn(async move { me.start(demand).await });
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
    async fn start(self: Arc<Upstream>, demand: Demand) -> Result<Arc<Connection>, ConnectError> {
        let begun = Instant::now();
        // Why it failed is of more use than that it is tried again.
        if demand != Demand::Background {
            self.say(State::Connecting);
        }
        let opened = tokio::select! {
            opened = self.open() => opened,
            () = self.closing.cancelled() => Err(ConnectError::Ended),
        };
        let mut starts = self.starts();
        starts.attempt = None;
        match opened {
            Ok(_) if self.closing.is_cancelled() => Err(ConnectError::Ended),
            Ok((connection, lists)) => {
                starts.backoff.succeeded();
                starts.failure = None;
                self.profiles().welcome();
                self.live.store(Some(connection.clone()));
                self.show(lists, state(connection.face()));
                self.log_connected(begun.elapsed());
                let (exchange, tended) = (connection.exchange().clone(), Arc::downgrade(&connection));
                // Owned by the connection's exchange: it ends when that is closed.
                tokio::spawn(tend::tend(self.me.clone(), tended, exchange));
                Ok(connection)
            }
            Err(error) => {
                if demand != Demand::Background {
                    starts.backoff.failed(&error, Instant::now(), Chance::draw());
                }
                if error != ConnectError::Ended {
                    // It may have become another; which era it is of is found out anew.
                    self.remember_era(None);
                    let said = self.settings.masked(&error.to_string());
                    // Tried again and again, it fails the same way; once is enough.
                    if starts.failure.as_ref() != Some(&said) {
                        tracing::warn!(target: "upstream", upstream = %self.name(), error = said, "could not connect");
                        starts.failure = Some(said.clone());
                    }
                    self.say(State::Failed { error: said });
                }
                Err(error)
            }
        }
    }

    async fn open(&self) -> Result<(Arc<Connection>, Lists), ConnectError> {
        let meeting = self.meeting(self.subscribed());
        let meeting = meeting.meet(self.era());
        let (connection, era) = self.within(START_TIMEOUT, "answer the handshake", meeting).await?;
        self.remember_era(era);
        let connection = Arc::new(connection);
        if connection.is_modern() {
            // Before the lists are read, so that no change of them is missed.
            connection.listen().await;
        }
        let lists = self.read_lists(&connection).await?;
        Ok((connection, lists))
    }

    /// What it takes to meet the server, whose clients can do everything.
    pub(crate) fn meeting<'a>(&'a self, subscribed: &'a Arc<Subscribed>) -> Meeting<'a> {
        let (settings, world, stderr) = (&self.settings, &self.world, &self.stderr);
        Meeting { settings, world, stderr, subscribed, profile: Profile::ALL }
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
        tracing::info!(target: "upstream", %upstream, state = %offer.state, tools, took_ms, "connected");
    }

    pub(crate) fn log_withheld(&self, offer: &Offer) {
        for withheld in &offer.withheld {
            let (tool, why) = (&withheld.name, &withheld.why);
            tracing::warn!(target: "upstream", upstream = %self.name(), tool, why, "tool withheld");
        }
    }
}

/// How a server is doing that has just been met.
fn state(face: &Face) -> State {
    let server = format!("{} {}", face.server.name, face.server.version);
    State::Connected { revision: face.revision, server: clean::sentence(&server, SERVER_BYTES_MAX) }
}

//! The HTTP door: Streamable HTTP of all revisions at one endpoint, and the HTTP+SSE transport beside it.
//!
//! The thread that accepts a connection answers its requests. The way of a request is `route`: who may
//! knock at all, who it is, then one match on path and method. To which era a POST belongs is found in `post`.

mod answer;
mod approvals;
mod channel;
mod cors;
mod detached;
mod event_log;
mod events;
mod get;
mod head;
mod health;
mod intake;
mod legacy;
mod listen;
mod mirror;
mod modern;
mod outbound;
mod post;
mod sessions;
mod stranger;
mod streams;
mod turns;
mod visitor;

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use gate::Caller;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::identity::Identity;
use crate::{Config, Server};
use answer::Answer;
use event_log::Total;
pub use listen::{BindError, bind};
use sessions::Sessions;
use turns::Turns;
use visitor::Visitors;

/// The path of the endpoint.
pub const PATH: &str = "/mcp";

/// How long a client may take to send the head of a request.
const HEAD_WAIT_MAX: Duration = Duration::from_secs(30);

/// Most open connections. Beyond it new ones wait in the system's queue.
const CONNECTIONS_MAX: usize = 10_000;

/// Most legacy calls that go on although their clients have hung up. Of more, the rest is given up.
const DETACHED_MAX: usize = 1_000;

/// Most legacy calls at once whose answers are streams: as many as connections, so that there is room for all that
/// are read.
const STREAMING_MAX: usize = CONNECTIONS_MAX;

/// How long open requests may still take once the door closes.
const DRAIN_MAX: Duration = Duration::from_secs(1);

/// How often events are looked for that were kept long enough, and sessions whose callers are known no longer.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// How long a stream of a legacy session may say nothing before a comment goes out.
const QUIET_MAX: Duration = Duration::from_secs(30);

/// The methods of the endpoint.
const METHODS: &str = "GET, POST, DELETE, OPTIONS";

/// What the requests of this door share.
struct Door {
    server: Arc<Server>,
    visitors: Visitors,
    /// Knows who comes through this door.
    identity: Arc<Identity>,
    /// Sessions of Streamable HTTP.
    sessions: Sessions,
    /// Sessions of HTTP+SSE, which live as long as their connections.
    channels: Sessions,
    /// How much all of them keep.
    total: Total,
    /// Calls and streams that go on beside their connections.
    tasks: TaskTracker,
    /// How many more calls may go on that nobody waits for.
    detached: Arc<Semaphore>,
    /// How many more calls may answer by a stream, be it read or not.
    streaming: Arc<Semaphore>,
    /// Room for bodies that arrive.
    bodies: Arc<Semaphore>,
    /// Ends those that are left when the door closes.
    closing: CancellationToken,
}

impl Door {
    fn new(server: Arc<Server>, identity: Arc<Identity>, config: &Config) -> Arc<Door> {
        let total = Total::default();
        Arc::new(Door {
            server,
            visitors: Visitors::new(config),
            identity,
            sessions: Sessions::new(total.clone()),
            channels: Sessions::new(total.clone()),
            total,
            bodies: intake::room(),
            tasks: TaskTracker::new(),
            detached: Arc::new(Semaphore::new(DETACHED_MAX)),
            streaming: Arc::new(Semaphore::new(STREAMING_MAX)),
            closing: CancellationToken::new(),
        })
    }
}

impl Door {
    /// Who sends this request.
    ///
    /// # Errors
    /// What to answer to somebody whom we do not know.
    async fn identify(&self, headers: &hyper::HeaderMap, peer: IpAddr) -> Result<Caller, Box<Answer>> {
        let known = self.identity.identify(headers, peer).await;
        known.map_err(|unknown| stranger::refuse(&self.identity, &unknown, headers).into())
    }

    /// Waits until nobody knows this caller any more: its key was revoked, its token has run out, or whose word counts
    /// has changed.
    async fn until_unknown(&self, caller: &Caller) {
        let (good_until_s, known_at) = (sessions::good_until_s(caller), Instant::now());
        let mut changes = self.identity.changes();
        loop {
            // It changes, or its time has come; which one does not matter.
            let _ = tokio::time::timeout(SWEEP_EVERY, changes.changed()).await;
            if !self.identity.still_knows(caller, good_until_s, known_at).await {
                return;
            }
        }
    }
}

#[cfg(test)]
impl Door {
    /// One that is open to whoever is on this machine.
    fn sample(server: Arc<Server>) -> Arc<Door> {
        let parts = crate::identity::Parts {
            config: &crate::identity::Config::default(),
            open_on_loopback: Some(true),
            store: Arc::new(store::SqliteStore::at(std::path::Path::new("nothing is kept here"))),
            client: sandbox::Client::new(),
            now_ms: || 0,
        };
        Door::new(server, Arc::new(Identity::new(parts)), &Config::default())
    }
}

/// Serves those whom `identity` knows until `shutdown` resolves, then lets open requests finish for a moment.
pub async fn serve(
    server: Arc<Server>,
    identity: Arc<Identity>,
    listener: TcpListener,
    config: &Config,
    shutdown: impl Future<Output = ()>,
) {
    let door = Door::new(server, identity, config);
    let mut connections = JoinSet::new();
    let (closing, _) = tokio::sync::watch::channel(false);
    let mut sweep = tokio::time::interval(SWEEP_EVERY);
    sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut terms = door.identity.changes();
    tokio::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut shutdown => break,
            // Beside this loop, since it may have to wait for the disk.
            Ok(()) = terms.changed() => {
                connections.spawn(end_of_strangers(door.clone()));
                continue;
            }
            _ = sweep.tick() => {
                door.sessions.forget_old_events();
                connections.spawn(end_of_strangers(door.clone()));
                continue;
            }
            accepted = listener.accept(), if connections.len() < CONNECTIONS_MAX => accepted,
            // After those that come: one that has ended holds nobody up.
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
        };
        match accepted {
            Ok((socket, peer)) => {
                connections.spawn(connection(door.clone(), socket, peer.ip(), closing.subscribe()));
            }
            // Out of descriptors, most likely: those that end free some.
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    drop(listener);
    door.server.stop();
    door.sessions.close();
    door.channels.close();
    closing.send_replace(true);
    let drained = async { while connections.join_next().await.is_some() {} };
    // What is not done by now is given up, and its record closed by that.
    let _ = tokio::time::timeout(DRAIN_MAX, drained).await;
    door.closing.cancel();
    connections.shutdown().await;
    door.tasks.close();
    let _ = tokio::time::timeout(DRAIN_MAX, door.tasks.wait()).await;
}

async fn end_of_strangers(door: Arc<Door>) {
    door.sessions.end_of_strangers(&door.identity).await;
    door.channels.end_of_strangers(&door.identity).await;
}

async fn connection(
    door: Arc<Door>,
    socket: TcpStream,
    peer: IpAddr,
    mut closing: tokio::sync::watch::Receiver<bool>,
) {
    // Without it small answers wait for the client's acknowledgement, some 40 ms.
    let _ = socket.set_nodelay(true);
    let turns = Turns::default();
    let service = service_fn(|request| {
        let (door, turns) = (door.clone(), turns.clone());
        // Boxed, since the connection would otherwise hold room for it while it waits for the next request.
        async move {
            turns.take().await;
            Ok::<_, Infallible>(route(&door, peer, request).await)
        }
        .boxed()
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WAIT_MAX)
        .serve_connection(TokioIo::new(socket), service);
    tokio::pin!(serving);
    let served = tokio::select! {
        biased;
        served = turns.of(serving.as_mut()) => served,
        _ = closing.changed() => {
            serving.as_mut().graceful_shutdown();
            turns.of(serving).await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection ended early");
    }
}

async fn route(door: &Arc<Door>, peer: IpAddr, request: Request<Incoming>) -> Answer {
    let page = match door.visitors.check(request.uri(), request.headers()) {
        Ok(page) => page,
        Err(refusal) => return answer::text(StatusCode::FORBIDDEN, refusal),
    };
    // Before anybody is asked who they are: a browser asks first what it may send, and a client where to sign in.
    let mut answer = match (request.uri().path(), request.method()) {
        (PATH | channel::PATH | channel::POST_PATH, &Method::OPTIONS) => {
            cors::preflight(request.headers(), page.is_some())
        }
        (path, &Method::OPTIONS) if approvals::is_here(path) => {
            cors::preflight(request.headers(), page.is_some())
        }
        (path, method) if health::is_here(path) => health::to_anybody(door, path, method),
        (path, method) if path.starts_with(stranger::WELL_KNOWN) => {
            stranger::well_known(&door.identity, path, method, request.headers(), page.is_some())
        }
        _ => match door.identify(request.headers(), peer).await {
            Ok(caller) => handle(door, caller, request).await,
            Err(refusal) => *refusal,
        },
    };
    if let Some(page) = page {
        cors::admit(&mut answer, page);
    }
    answer
}

/// Answers somebody whom we know.
async fn handle(door: &Arc<Door>, caller: Caller, request: Request<Incoming>) -> Answer {
    match (request.uri().path(), request.method()) {
        (PATH, &Method::POST) => post::handle(door, caller, request).await,
        (PATH, &Method::GET) => get::open(door, &caller, request.headers()),
        (PATH, &Method::DELETE) => sessions::end(door, &caller, request.headers()),
        (PATH, _) => answer::not_allowed(METHODS),
        (channel::PATH, _) => channel::open(door, caller, &request),
        (channel::POST_PATH, _) => channel::post(door, &caller, request).await,
        (health::METRICS, method) => health::metrics(door, &caller, method),
        (path, _) if approvals::is_here(path) => approvals::handle(door, caller, request).await,
        _ => nothing_here(),
    }
}

fn nothing_here() -> Answer {
    answer::text(StatusCode::NOT_FOUND, "there is nothing here; the MCP endpoint is /mcp\n")
}

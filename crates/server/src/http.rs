//! The HTTP door: Streamable HTTP of all revisions at one endpoint, and the HTTP+SSE transport beside it.
//!
//! The thread that accepts a connection answers its requests. The way of a request is `route`: who may
//! knock at all, then one match on path and method. To which era a POST belongs is found in `post`.

mod answer;
mod channel;
mod cors;
mod detached;
mod event_log;
mod events;
mod get;
mod head;
mod intake;
mod legacy;
mod listen;
mod mirror;
mod modern;
mod outbound;
mod post;
mod sessions;
mod streams;
mod visitor;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use gate::{Caller, Via};
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

use crate::{Config, Server};
use answer::Answer;
use event_log::Total;
pub use listen::{BindError, bind};
use sessions::Sessions;
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

/// How often events are looked for that were kept long enough.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// How long a stream of a legacy session may say nothing before a comment goes out.
const QUIET_MAX: Duration = Duration::from_secs(30);

/// The methods of the endpoint.
const METHODS: &str = "GET, POST, DELETE, OPTIONS";

/// What the requests of this door share.
struct Door {
    server: Arc<Server>,
    visitors: Visitors,
    /// Who everybody is that comes through this door.
    caller: Caller,
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
    fn new(server: Arc<Server>, config: &Config) -> Arc<Door> {
        let total = Total::default();
        Arc::new(Door {
            server,
            visitors: Visitors::new(config),
            caller: Caller::local_user(Via::Http),
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

/// Serves until `shutdown` resolves, then lets open requests finish for a moment.
pub async fn serve(
    server: Arc<Server>,
    listener: TcpListener,
    config: &Config,
    shutdown: impl Future<Output = ()>,
) {
    let door = Door::new(server, config);
    let mut connections = JoinSet::new();
    let (closing, _) = tokio::sync::watch::channel(false);
    let mut sweep = tokio::time::interval(SWEEP_EVERY);
    sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tokio::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut shutdown => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            _ = sweep.tick() => {
                door.sessions.forget_old_events();
                continue;
            }
            accepted = listener.accept(), if connections.len() < CONNECTIONS_MAX => accepted,
        };
        match accepted {
            Ok((socket, _)) => {
                connections.spawn(connection(door.clone(), socket, closing.subscribe()));
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

async fn connection(door: Arc<Door>, socket: TcpStream, mut closing: tokio::sync::watch::Receiver<bool>) {
    // Without it small answers wait for the client's acknowledgement, some 40 ms.
    let _ = socket.set_nodelay(true);
    let service = service_fn(move |request| {
        let door = door.clone();
        // Boxed, since the connection would otherwise hold room for it while it waits for the next request.
        async move { Ok::<_, Infallible>(route(&door, request).await) }.boxed()
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WAIT_MAX)
        .serve_connection(TokioIo::new(socket), service);
    tokio::pin!(serving);
    let served = tokio::select! {
        biased;
        served = &mut serving => served,
        _ = closing.changed() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection ended early");
    }
}

async fn route(door: &Arc<Door>, request: Request<Incoming>) -> Answer {
    let page = match door.visitors.check(request.headers()) {
        Ok(page) => page,
        Err(refusal) => return answer::text(StatusCode::FORBIDDEN, refusal),
    };
    let mut answer = match (request.uri().path(), request.method()) {
        (PATH | channel::PATH | channel::POST_PATH, &Method::OPTIONS) => {
            cors::preflight(request.headers(), page.is_some())
        }
        (PATH, &Method::POST) => post::handle(door, request).await,
        (PATH, &Method::GET) => get::open(door, request.headers()),
        (PATH, &Method::DELETE) => sessions::end(door, request.headers()),
        (PATH, _) => answer::not_allowed(METHODS),
        (channel::PATH, _) => channel::open(door, &request),
        (channel::POST_PATH, _) => channel::post(door, request).await,
        _ => answer::text(StatusCode::NOT_FOUND, "there is nothing here; the MCP endpoint is /mcp\n"),
    };
    if let Some(page) = page {
        cors::admit(&mut answer, page);
    }
    answer
}

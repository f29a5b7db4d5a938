//! The HTTP door: Streamable HTTP of the legacy revisions at `/mcp`.
//!
//! The thread that accepts a connection answers its requests. The way of a request is `route`: who may
//! knock at all, then one match on the method.

mod answer;
mod listen;
mod post;
mod sessions;
mod stream;
mod version;
mod visitor;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Server;
use answer::Answer;
pub use listen::{BindError, bind};
use sessions::Sessions;

/// The path of the endpoint.
pub const PATH: &str = "/mcp";

/// How long a client may take to send the head of a request.
const HEAD_WAIT_MAX: Duration = Duration::from_secs(30);

/// Most open connections. Beyond it new ones wait in the system's queue.
const CONNECTIONS_MAX: usize = 10_000;

/// How long open requests may still take once the door closes.
const DRAIN_MAX: Duration = Duration::from_secs(1);

/// What the requests of this door share.
struct Door {
    server: Arc<Server>,
    sessions: Sessions,
    /// Calls and streams that go on beside their connections.
    tasks: TaskTracker,
    /// Ends those that are left when the door closes.
    closing: CancellationToken,
}

/// Serves until `shutdown` resolves, then lets open requests finish for a moment.
pub async fn serve(server: Arc<Server>, listener: TcpListener, shutdown: impl Future<Output = ()>) {
    let door = Arc::new(Door {
        server,
        sessions: Sessions::default(),
        tasks: TaskTracker::new(),
        closing: CancellationToken::new(),
    });
    let mut connections = JoinSet::new();
    let (closing, _) = tokio::sync::watch::channel(false);
    tokio::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut shutdown => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
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
    door.sessions.close();
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
        async move { Ok::<_, Infallible>(route(&door, request).await) }
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
    if let Err(refusal) = visitor::check(request.headers()) {
        return answer::text(StatusCode::FORBIDDEN, refusal);
    }
    if request.uri().path() != PATH {
        return answer::text(StatusCode::NOT_FOUND, "there is nothing here; the MCP endpoint is /mcp\n");
    }
    let revision = match version::named(request.headers()) {
        Ok(revision) => revision,
        Err(refusal) => return *refusal,
    };
    match *request.method() {
        Method::POST => post::handle(door, request, revision).await,
        Method::GET => stream::open(door, request.headers()),
        Method::DELETE => sessions::end(door, request.headers()),
        _ => answer::not_allowed("GET, POST, DELETE"),
    }
}

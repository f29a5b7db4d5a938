//! The HTTP transport: Streamable HTTP of all revisions at one endpoint, and the HTTP+SSE transport beside it.
//!
//! The thread that accepts a connection answers its requests. The way of a request is `route`: who may
//! knock at all, who it is, then one match on path and method. To which era a POST belongs is found in `post`.

mod answer;
mod approvals;
mod channel;
mod cors;
mod detached;
mod endpoint;
mod event_log;
mod events;
mod exchange;
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
mod streams;
mod unauthenticated;
mod visitor;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use gate::Caller;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

pub use crate::config::MCP_PATH as PATH;
use crate::identity::Identity;
use crate::{Config, Server, accept};
use answer::{Answer, Answered};
use endpoint::{CONNECTIONS_MAX, Endpoint};
pub use listen::{BindError, bind};

/// How long a client may take to send the head of a request.
const HEAD_WAIT_MAX: Duration = Duration::from_secs(30);

/// How long calls and streams beside the connections may still take once the endpoint closes.
const DRAIN_MAX: Duration = Duration::from_secs(1);

/// Serves those whom `identity` knows until `shutdown` resolves, then lets open requests finish for a moment.
pub async fn serve(
    server: Arc<Server>,
    identity: Arc<Identity>,
    listener: TcpListener,
    config: &Config,
    shutdown: impl Future<Output = ()>,
) {
    let endpoint = Endpoint::new(server, identity, config);
    let mut connections = JoinSet::new();
    let (closing, _) = tokio::sync::watch::channel(false);
    let serve = |(socket, peer): (TcpStream, SocketAddr)| {
        connection(endpoint.clone(), socket, peer.ip(), closing.subscribe())
    };
    tokio::select! {
        biased;
        () = shutdown => {}
        () = endpoint.sweep() => {}
        () = accept::each(&mut connections, CONNECTIONS_MAX, || listener.accept(), serve) => {}
    }
    drop(listener);
    endpoint.server.stopping.cancel();
    endpoint.sessions.close();
    endpoint.channels.close();
    closing.send_replace(true);
    accept::drain(&mut connections).await;
    endpoint.closing.cancel();
    connections.shutdown().await;
    endpoint.tasks.close();
    let _ = tokio::time::timeout(DRAIN_MAX, endpoint.tasks.wait()).await;
}

async fn connection(
    endpoint: Arc<Endpoint>,
    socket: TcpStream,
    peer: IpAddr,
    mut closing: tokio::sync::watch::Receiver<bool>,
) {
    // Without it small answers wait for the client's acknowledgement, some 40 ms.
    let _ = socket.set_nodelay(true);
    let service = service_fn(|request| {
        let endpoint = endpoint.clone();
        // Boxed, since the connection would otherwise hold room for it while it waits for the next request.
        async move { Ok::<_, Infallible>(route(&endpoint, peer, request).await) }.boxed()
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WAIT_MAX)
        .serve_connection(TokioIo::new(socket), service);
    tokio::pin!(serving);
    let served = tokio::select! {
        biased;
        served = serving.as_mut() => served,
        _ = closing.changed() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection ended early");
    }
}

async fn route(endpoint: &Arc<Endpoint>, peer: IpAddr, request: Request<Incoming>) -> Answer {
    let page = match endpoint.visitors.check(request.uri(), request.headers()) {
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
        (path, method) if health::is_here(path) => health::to_anybody(endpoint, path, method),
        (path, method) if path.starts_with(unauthenticated::WELL_KNOWN) => {
            unauthenticated::well_known(&endpoint.identity, path, method, request.headers(), page.is_some())
        }
        _ => match endpoint.identity.identify(request.headers(), peer).await {
            Ok(caller) => handle(endpoint, caller, request).await.unwrap_or_else(|refusal| *refusal),
            Err(unknown) => unauthenticated::refuse(&endpoint.identity, &unknown, request.headers()),
        },
    };
    if let Some(page) = page {
        cors::admit(&mut answer, page);
    }
    answer
}

/// Answers somebody whom we know.
async fn handle(endpoint: &Arc<Endpoint>, caller: Caller, request: Request<Incoming>) -> Answered {
    match (request.uri().path(), request.method()) {
        (PATH, &Method::POST) => post::handle(endpoint, caller, request).await,
        (PATH, &Method::GET) => get::open(endpoint, &caller, request.headers()),
        (PATH, &Method::DELETE) => endpoint.sessions.end_named(&caller, request.headers()),
        (PATH, _) => Ok(answer::not_allowed(cors::METHODS)),
        (channel::PATH, _) => channel::open(endpoint, caller, &request),
        (channel::POST_PATH, _) => channel::post(endpoint, &caller, request).await,
        (health::METRICS, method) => Ok(health::metrics(endpoint, &caller, method)),
        (path, _) if approvals::is_here(path) => approvals::handle(endpoint, caller, request).await,
        _ => Ok(answer::nothing_here()),
    }
}

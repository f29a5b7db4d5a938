//! The HTTP transport: Streamable HTTP of all revisions at one endpoint for each workspace, and the HTTP+SSE transport of the
//! default one.
//!
//! The thread that accepts a connection answers its requests. The way of a request is `route`: who may
//! knock at all, who it is, then one match on path and method. To which era a POST belongs is found in `post`.

mod answer;
mod approvals;
mod artifacts;
mod channel;
mod cors;
mod detached;
mod door;
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
mod mistyped;
mod modern;
mod named;
mod openapi;
mod outbound;
mod post;
mod posted;
mod problem;
mod query;
mod response;
mod rest;
mod sessions;
mod sockets;
mod streams;
mod tls;
mod unauthenticated;
mod visitor;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use gate::Caller;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

pub use crate::config::MCP_PATH as PATH;
use crate::identity::Identity;
use crate::{Administration, Config, Server, Workspaces, accept};
use answer::{Answer, Answered};
use door::Door;
use endpoint::{CONNECTIONS_MAX, Endpoint, SWEEP_EVERY};
pub use listen::{BindError, bind, check};
use named::Named;
pub use openapi::OPENAPI;
pub use tls::Listener;

/// How long a client may take to send the head of a request.
const HEAD_WAIT_MAX: Duration = Duration::from_secs(30);

/// How long calls and streams beside the connections may still take once the endpoint closes.
const DRAIN_MAX: Duration = Duration::from_secs(1);

/// Operations of the administration at a time: some go through all of the audit log.
const OPERATIONS_AT_ONCE_MAX: usize = 2;

/// Serves those whom `identity` knows until `shutdown` resolves, then lets open requests finish for a moment: `server` at
/// [`PATH`], and behind it `workspaces` by their names, and what `administration` does.
pub async fn serve(
    server: Arc<Server>,
    (workspaces, administration): (Arc<dyn Workspaces>, Arc<dyn Administration>),
    identity: Arc<Identity>,
    listener: Listener,
    config: &Config,
    shutdown: impl Future<Output = ()>,
) {
    let endpoint = Endpoint::new(server, identity, config);
    let door = Arc::new(Door {
        endpoint: endpoint.clone(),
        named: Named::new(workspaces),
        administration,
        operations: Arc::new(Semaphore::new(OPERATIONS_AT_ONCE_MAX)),
        since: Instant::now(),
    });
    let mut connections = JoinSet::new();
    let (closing, _) = tokio::sync::watch::channel(false);
    let serve = |(socket, peer): (TcpStream, SocketAddr)| {
        let (door, tls, closing) = (door.clone(), listener.tls(), closing.subscribe());
        async move {
            // Without it small answers wait for the client's acknowledgement, some 40 ms.
            let _ = socket.set_nodelay(true);
            match tls {
                None => connection(door, socket, peer.ip(), closing).await,
                Some(tls) => {
                    if let Some(socket) = Box::pin(tls::agree(&tls, socket)).await {
                        connection(door, socket, peer.ip(), closing).await;
                    }
                }
            }
        }
    };
    tokio::select! {
        biased;
        () = shutdown => {}
        () = sweep(&door) => {}
        () = accept::each(&mut connections, CONNECTIONS_MAX, || listener.accept(), serve) => {}
    }
    drop(listener);
    endpoint.end();
    door.named.end();
    closing.send_replace(true);
    accept::drain(&mut connections).await;
    endpoint.closing.cancel();
    connections.shutdown().await;
    endpoint.tasks.close();
    let _ = tokio::time::timeout(DRAIN_MAX, endpoint.tasks.wait()).await;
}

/// Looks after what stands, whenever other settings come into force and every so often.
async fn sweep(door: &Door) {
    let mut changes = door.endpoint.identity.changes();
    loop {
        // It changes, or its time has come; which one does not matter.
        let _ = tokio::time::timeout(SWEEP_EVERY, changes.changed()).await;
        door.endpoint.sweep().await;
        door.named.sweep().await;
    }
}

/// Answers what comes over one connection. What waits is small, since there may be thousands of them: what reads and writes
/// lies in a box of its size, or each would hold room for the larger one of TLS.
fn connection(
    door: Arc<Door>,
    socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: IpAddr,
    mut closing: tokio::sync::watch::Receiver<bool>,
) -> impl Future<Output = ()> + Send {
    let service = service_fn(move |request| {
        let door = door.clone();
        // Boxed, since the connection would otherwise hold room for it while it waits for the next request.
        async move { Ok::<_, Infallible>(route(&door, peer, request).await) }.boxed()
    });
    let mut serving = Box::pin(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_WAIT_MAX)
            .serve_connection(TokioIo::new(socket), service)
            .with_upgrades(),
    );
    async move {
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
}

async fn route(door: &Door, peer: IpAddr, request: Request<Incoming>) -> Answer {
    let endpoint = &door.endpoint;
    let page = match endpoint.visitors.check(request.uri(), request.headers()) {
        Ok(page) => page,
        Err(refusal) => return answer::problem(StatusCode::FORBIDDEN, refusal),
    };
    // Before anybody is asked who they are: a browser asks first what it may send, and a client where to sign in.
    let mut answer = match (request.uri().path(), request.method()) {
        (path, &Method::OPTIONS) if let Some(methods) = methods_of(path) => {
            cors::preflight(request.headers(), page.is_some(), methods)
        }
        (path, method) if health::is_here(path) => health::to_anybody(endpoint, path, method),
        (path, method) if path.starts_with(unauthenticated::WELL_KNOWN) => {
            unauthenticated::well_known(&endpoint.identity, path, method, request.headers(), page.is_some())
        }
        _ => match endpoint.identity.identify(request.headers(), peer).await {
            Ok(caller) => handle(door, caller, request).await.unwrap_or_else(|refusal| *refusal),
            Err(unknown) => {
                let path = request.uri().path();
                let named = named::name_in(path).or_else(|| rest::place(path)?.workspace);
                unauthenticated::refuse(&endpoint.identity, &unknown, named, request.headers())
            }
        },
    };
    if let Some(page) = page {
        cors::admit(&mut answer, page);
    }
    answer
}

/// The methods of a path that a page of another origin may be let to ask, if it is one.
fn methods_of(path: &str) -> Option<&'static str> {
    match path {
        PATH | channel::PATH | channel::POST_PATH => Some(cors::METHODS),
        path => approvals::methods(path)
            .or_else(|| artifacts::place(path).map(|_| artifacts::METHODS))
            .or_else(|| named::name_in(path).map(|_| cors::METHODS))
            .or_else(|| rest::methods(path)),
    }
}

/// Answers somebody whom we know.
async fn handle(door: &Door, caller: Caller, request: Request<Incoming>) -> Answered {
    let endpoint = &door.endpoint;
    match (request.uri().path(), request.method()) {
        (PATH, _) => mcp(endpoint, caller, request).await,
        (channel::PATH, _) => channel::open(endpoint, caller, &request),
        (channel::POST_PATH, _) => channel::post(endpoint, &caller, request).await,
        (health::METRICS, method) => Ok(health::metrics(endpoint, &caller, method)),
        (path, _) if approvals::is_here(path) => approvals::handle(endpoint, caller, request).await,
        (path, method) => match (named::name_in(path), artifacts::place(path)) {
            (Some(name), _) => mcp(&door.named.endpoint(endpoint, name)?, caller, request).await,
            (None, Some((workspace, id))) => {
                let named = workspace.map(|name| door.named.endpoint(endpoint, name)).transpose()?;
                let endpoint = named.as_ref().unwrap_or(endpoint);
                artifacts::handle(endpoint, &caller, (id, request.uri().query()), method, request.headers())
                    .await
            }
            (None, None) => rest::handle(door, caller, request).await,
        },
    }
}

/// Answers a request to a workspace.
async fn mcp(endpoint: &Arc<Endpoint>, caller: Caller, request: Request<Incoming>) -> Answered {
    match *request.method() {
        Method::POST => post::handle(endpoint, caller, request).await,
        Method::GET => get::open(endpoint, &caller, request.headers()),
        Method::DELETE => endpoint.sessions.end_named(&caller, request.headers()),
        _ => Ok(answer::not_allowed(cors::METHODS)),
    }
}

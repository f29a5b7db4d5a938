//! `Transport`: what carries the messages of one connection, and what it is given to carry.

use std::sync::Arc;

use http::{HeaderMap, Uri};
use tokio_util::sync::DropGuard;
use wire::{Revision, write};

use super::exchange::Exchange;
use super::http::Peer;
use super::process::{Process, SandboxReport};
use super::request::{Request, Work};
use super::stderr::Stderr;
use super::{socket, sse, stdio};
use crate::error::ConnectError;
use crate::fault::Fault;
use crate::settings::{Endpoint, Settings};
use crate::trace::Tap;
use crate::world::World;

/// An open way to a server. Dropping it closes it; `end` closes it and waits.
pub(crate) struct Transport {
    /// The messages under way.
    pub(crate) exchange: Arc<Exchange>,
    way: Way,
    /// For a program that runs confined.
    pub(crate) sandbox: Option<Arc<SandboxReport>>,
}

enum Way {
    Stdio(stdio::Stdio),
    Http {
        peer: Arc<Peer>,
        /// Ends its tasks when the connection is dropped.
        _close_on_drop: DropGuard,
    },
}

impl Way {
    fn http(peer: Arc<Peer>) -> Way {
        let _close_on_drop = peer.exchange.pending.closed.clone().drop_guard();
        Way::Http { peer, _close_on_drop }
    }
}

impl Transport {
    /// Starts the program, connects to the socket, or gets ready to dial. Nothing has been said yet.
    pub(crate) async fn open(
        settings: &Settings,
        world: &World,
        stderr: &Arc<Stderr>,
    ) -> Result<Arc<Transport>, ConnectError> {
        let exchange = exchange(settings, world);
        let mut sandbox = None;
        let way = match &settings.endpoint {
            Endpoint::Program(program) => {
                let (process, report) = Process::start(program, settings, world).await?;
                sandbox = report;
                Way::Stdio(stdio::Stdio::serve(process, &exchange, stderr.clone()))
            }
            Endpoint::Socket(path) => Way::Stdio(socket::connect(path, &exchange).await?),
            Endpoint::Address { url, headers, .. } => {
                Way::http(Arc::new(peer(settings, world, url, headers, &exchange)))
            }
        };
        if let Some(tap) = &exchange.tap {
            tap.opened();
        }
        Ok(Arc::new(Transport { exchange, way, sandbox }))
    }

    /// The same for a server at an address that speaks HTTP with server-sent events; returns when it is there.
    ///
    /// # Errors
    /// If it does not speak so, or there is no address.
    pub(crate) async fn open_sse(settings: &Settings, world: &World) -> Result<Arc<Transport>, Fault> {
        let Endpoint::Address { url, headers, .. } = &settings.endpoint else {
            return Err(Fault::Broken("it is no server at an address".to_owned()));
        };
        let exchange = exchange(settings, world);
        let peer = sse::open(peer(settings, world, url, headers, &exchange), url).await?;
        Ok(Arc::new(Transport { exchange, way: Way::http(peer), sandbox: None }))
    }

    /// Over which nothing is sent.
    #[cfg(test)]
    pub(crate) fn unsent() -> Arc<Transport> {
        let (exchange, url) = (Exchange::untraced(), Uri::from_static("http://127.0.0.1:1/mcp"));
        let (client, headers) = (sandbox::Client::new(), HeaderMap::new());
        let peer = Peer::new(client, None, url, &headers, exchange.clone());
        Arc::new(Transport { exchange, way: Way::http(Arc::new(peer)), sandbox: None })
    }

    /// Sends a request at once, or returns the work that does.
    pub(super) fn send(&self, id: u64, modern: bool, request: &Request<'_>) -> Result<Option<Work>, Fault> {
        match &self.way {
            Way::Stdio(stdio) => stdio.send(request.message(id)).map(|()| None),
            Way::Http { peer, .. } => Ok(Some(peer.work(id, modern, request))),
        }
    }

    /// Sends a message that has no answer, without waiting. A server that is gone, or takes nothing in, need
    /// not know.
    pub(super) fn tell(&self, message: Vec<u8>) {
        match &self.way {
            Way::Stdio(stdio) => drop(stdio.send(message)),
            Way::Http { peer, .. } => peer.tell_later(message),
        }
    }

    /// True if it is HTTP with server-sent events, as before 2025-03-26.
    pub(crate) fn is_sse(&self) -> bool {
        matches!(&self.way, Way::Http { peer, .. } if peer.is_sse())
    }

    /// True if each request is an exchange of its own: hanging up cancels it if it is modern, and what answers it need
    /// not be what answered the one before.
    pub(super) fn is_streamable_http(&self) -> bool {
        matches!(&self.way, Way::Http { peer, .. } if !peer.is_sse())
    }

    /// A legacy handshake has settled on `revision`; tells the server that we are ready.
    pub(crate) async fn agreed(&self, revision: Revision) -> Result<(), Fault> {
        match &self.way {
            Way::Stdio(stdio) => {
                let mut message = Vec::with_capacity(64);
                write::notification(&mut message, "notifications/initialized", None);
                stdio.send(message)
            }
            Way::Http { peer, .. } => peer.agreed(revision).await,
        }
    }

    /// Closes the connection and waits until nothing is left of it, for a bounded time.
    pub(crate) async fn end(&self) {
        match &self.way {
            Way::Stdio(stdio) => stdio.end().await,
            Way::Http { peer, .. } => peer.end().await,
        }
    }
}

/// The server at an address.
fn peer(
    settings: &Settings,
    world: &World,
    url: &Uri,
    headers: &HeaderMap,
    exchange: &Arc<Exchange>,
) -> Peer {
    Peer::new(world.client.clone(), settings.signer.clone(), url.clone(), headers, exchange.clone())
}

/// The messages of a new connection, told to whoever wants to know.
fn exchange(settings: &Settings, world: &World) -> Arc<Exchange> {
    let tap = world.trace.as_ref().map(|trace| Tap::new(trace, settings));
    Exchange::new(settings.name.clone(), settings.mask(), tap)
}

//! `Transport`: what carries the messages of one connection, and what it is given to carry.

use std::sync::Arc;

use wire::{Revision, write};

use super::exchange::Exchange;
use super::request::{Outgoing, Work};
use super::stderr::Stderr;
use super::{http as web, socket, sse, stdio};
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
}

enum Way {
    Stdio(stdio::Stdio),
    Http(web::Http),
}

impl Transport {
    /// Starts the program, connects to the socket, or gets ready to dial. Nothing has been said yet.
    pub(crate) async fn open(
        settings: &Settings,
        world: &World,
        stderr: &Arc<Stderr>,
    ) -> Result<Arc<Transport>, ConnectError> {
        let exchange = exchange(settings, world);
        let way = match &settings.endpoint {
            Endpoint::Program(program) => {
                let tree = world.launcher.start(program)?;
                Way::Stdio(stdio::Stdio::serve(tree, &exchange, stderr.clone()))
            }
            Endpoint::Socket(path) => Way::Stdio(socket::connect(path, &exchange).await?),
            Endpoint::Address { url, headers, .. } => {
                let (signed, place) = (signed(settings, world, &exchange), web::Session::InHeader);
                let peer = web::Peer::new(signed, url.clone(), headers, exchange.clone(), place);
                Way::Http(web::Http::new(peer))
            }
        };
        if let Some(tap) = &exchange.tap {
            tap.opened();
        }
        Ok(Arc::new(Transport { exchange, way }))
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
        let http = sse::open(signed(settings, world, &exchange), url, headers, exchange.clone()).await?;
        Ok(Arc::new(Transport { exchange, way: Way::Http(http) }))
    }

    /// Over which nothing is sent.
    #[cfg(test)]
    pub(crate) fn unsent() -> Arc<Transport> {
        let (exchange, url) = (Exchange::untraced(), http::Uri::from_static("http://127.0.0.1:1/mcp"));
        let (headers, place) = (http::HeaderMap::new(), web::Session::InHeader);
        let signed = web::Signed::new(sandbox::Client::new(), None, None);
        let http = web::Http::new(web::Peer::new(signed, url, &headers, exchange.clone(), place));
        Arc::new(Transport { exchange, way: Way::Http(http) })
    }

    /// Sends a request at once, or returns the work that does.
    pub(super) fn send(&self, outgoing: &Outgoing<'_>) -> Result<Option<Work>, Fault> {
        match &self.way {
            Way::Stdio(stdio) => stdio.send(outgoing.message()).map(|()| None),
            Way::Http(http) => Ok(Some(http.request(outgoing))),
        }
    }

    /// Sends a message that has no answer, without waiting. A server that is gone, or takes nothing in, need
    /// not know.
    pub(super) fn tell(&self, message: Vec<u8>) {
        match &self.way {
            Way::Stdio(stdio) => drop(stdio.send(message)),
            Way::Http(http) => http.peer.tell_later(message),
        }
    }

    /// True if it is HTTP with server-sent events, as before 2025-03-26.
    pub(super) fn is_sse(&self) -> bool {
        matches!(&self.way, Way::Http(http) if http.peer.is_sse())
    }

    /// True if each request is an exchange of its own: hanging up cancels it if it is modern, and what answers it need
    /// not be what answered the one before.
    pub(super) fn is_streamable_http(&self) -> bool {
        matches!(&self.way, Way::Http(http) if !http.peer.is_sse())
    }

    /// A legacy handshake has settled on `revision`; tells the server that we are ready.
    pub(crate) async fn agreed(&self, revision: Revision) -> Result<(), Fault> {
        match &self.way {
            Way::Stdio(stdio) => {
                let mut message = Vec::with_capacity(64);
                write::notification(&mut message, "notifications/initialized", None);
                stdio.send(message)
            }
            Way::Http(http) => http.agreed(revision).await,
        }
    }

    /// Closes the connection and waits until nothing is left of it, for a bounded time.
    pub(crate) async fn end(&self) {
        match &self.way {
            Way::Stdio(stdio) => stdio.end().await,
            Way::Http(http) => http.end().await,
        }
    }
}

/// The way for requests of a connection.
fn signed(settings: &Settings, world: &World, exchange: &Exchange) -> web::Signed {
    web::Signed::new(world.client.clone(), settings.signer.clone(), exchange.tap.clone())
}

/// The messages of a new connection, told to whoever wants to know.
fn exchange(settings: &Settings, world: &World) -> Arc<Exchange> {
    let tap = world.trace.as_ref().map(|trace| Tap::new(trace, settings));
    Exchange::new(settings.name.clone(), settings.mask(), tap)
}

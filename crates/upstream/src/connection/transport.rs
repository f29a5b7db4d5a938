//! `Transport`: what carries the messages of one connection, and what it is given to carry.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderName, HeaderValue};
use wire::http::{METHOD, NAME, PROTOCOL_VERSION};
use wire::{Revision, headers, write};

use super::{Exchange, Fault, Stderr, http as web, socket, sse, stdio};
use crate::World;
use crate::error::ConnectError;
use crate::settings::{Endpoint, Settings};
use crate::trace::Tap;

/// Has to be polled until the answer to its request is with the exchange. Fails if there will be none.
pub(crate) type Work = BoxFuture<'static, Result<(), Fault>>;

/// Which way a message of the server came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Via {
    /// A way that all requests share: a pipe, or the stream of one GET.
    Shared,
    /// The stream that answers this request of ours alone.
    Request(u64),
}

/// A request on its way out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outgoing<'a> {
    /// Its number, which is its id on the wire.
    pub id: u64,
    /// What is wanted.
    pub method: &'a str,
    /// The whole parameters as JSON text; empty for none.
    pub params: &'a [u8],
    /// True if it is framed as a modern request, and needs its headers.
    pub modern: bool,
    /// What it is about, for `Mcp-Name`.
    pub name: Option<&'a str>,
    /// Headers that repeat arguments: full names and encoded values.
    pub param_headers: &'a [(String, String)],
}

impl Outgoing<'_> {
    /// The whole message without a line end.
    pub(super) fn message(&self) -> Vec<u8> {
        let mut message = Vec::with_capacity(self.params.len() + 80);
        let params = Some(self.params).filter(|params| !params.is_empty());
        write::numbered_request(&mut message, self.id, self.method, params);
        message
    }

    /// The standard headers of a modern request; none for a legacy one.
    pub(super) fn headers(&self) -> HeaderMap {
        let mut map = HeaderMap::new();
        if !self.modern {
            return map;
        }
        map.insert(PROTOCOL_VERSION, HeaderValue::from_static(Revision::MODERN.name()));
        // A method of an extension may be one that no header can hold; the server then refuses what lacks it.
        if let Ok(method) = HeaderValue::from_str(self.method) {
            map.insert(METHOD, method);
        }
        if let Some(name) = self.name {
            let value = HeaderValue::from_str(&headers::encode(name));
            map.insert(NAME, value.expect("an encoded value is printable ASCII"));
        }
        for (name, value) in self.param_headers {
            // What is no header was not made by the rules for them; the server says that it is missing.
            if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
                map.insert(name, value);
            }
        }
        map
    }
}

/// An open way to a server. Dropping it closes it; `end` closes it and waits.
pub(crate) enum Transport {
    Stdio(stdio::Stdio),
    Http(web::Http),
    Sse(sse::Sse),
}

impl Transport {
    /// Starts the program, connects to the socket, or gets ready to dial. Nothing has been said yet.
    pub(crate) async fn open(
        settings: &Settings,
        world: &World,
        stderr: &Arc<Stderr>,
    ) -> Result<(Transport, Arc<Exchange>), ConnectError> {
        let tap = tap(settings, world);
        let exchange = Exchange::new(settings.name.clone()).traced(tap).masking(settings.mask());
        let exchange = Arc::new(exchange);
        let transport = match &settings.endpoint {
            Endpoint::Program(program) => {
                let tree = world.launcher.start(program)?;
                Transport::Stdio(stdio::Stdio::serve(tree, exchange.clone(), stderr.clone()))
            }
            Endpoint::Socket(path) => Transport::Stdio(socket::connect(path, exchange.clone()).await?),
            Endpoint::Address { url, headers, .. } => Transport::Http(web::Http::new(
                signed(settings, world, &exchange),
                url,
                headers,
                exchange.clone(),
            )),
        };
        if let Some(tap) = exchange.tap() {
            tap.opened();
        }
        Ok((transport, exchange))
    }

    /// The same for a server at an address that speaks HTTP with server-sent events; returns when it is there.
    ///
    /// # Errors
    /// If it does not speak so, or there is no address.
    pub(crate) async fn open_sse(
        settings: &Settings,
        world: &World,
    ) -> Result<(Transport, Arc<Exchange>), Fault> {
        let Endpoint::Address { url, headers, .. } = &settings.endpoint else {
            return Err(Fault::Broken("it is no server at an address".to_owned()));
        };
        let tap = tap(settings, world);
        let exchange = Exchange::new(settings.name.clone()).traced(tap).masking(settings.mask());
        let exchange = Arc::new(exchange);
        let sse = sse::Sse::open(signed(settings, world, &exchange), url, headers, exchange.clone()).await?;
        Ok((Transport::Sse(sse), exchange))
    }

    /// Sends a request at once, or returns the work that does.
    pub(super) fn send(&self, outgoing: &Outgoing<'_>) -> Result<Option<Work>, Fault> {
        match self {
            Transport::Stdio(stdio) => stdio.send(outgoing.message()).map(|()| None),
            Transport::Http(http) => Ok(Some(http.request(outgoing))),
            Transport::Sse(sse) => Ok(Some(sse.request(outgoing))),
        }
    }

    /// Sends a message that has no answer, without waiting. A server that is gone, or takes nothing in, need
    /// not know.
    pub(super) fn tell(&self, message: Vec<u8>) {
        match self {
            Transport::Stdio(stdio) => drop(stdio.send(message)),
            Transport::Http(http) => http.tell_later(message),
            Transport::Sse(sse) => sse.tell_later(message),
        }
    }

    /// True if hanging up is how a modern request is cancelled here.
    pub(super) fn cancels_by_hanging_up(&self) -> bool {
        match self {
            Transport::Stdio(_) | Transport::Sse(_) => false,
            Transport::Http(_) => true,
        }
    }

    /// True if what answers a request need not be what answered the one before.
    pub(super) fn may_change_sides(&self) -> bool {
        match self {
            Transport::Stdio(_) | Transport::Sse(_) => false,
            Transport::Http(_) => true,
        }
    }

    /// A legacy handshake has settled on `revision`; tells the server that we are ready.
    pub(crate) async fn agreed(&self, revision: Revision) -> Result<(), Fault> {
        match self {
            Transport::Stdio(stdio) => {
                let mut message = Vec::with_capacity(64);
                write::notification(&mut message, "notifications/initialized", None);
                stdio.send(message)
            }
            Transport::Http(http) => http.agreed(revision).await,
            Transport::Sse(sse) => sse.agreed(revision).await,
        }
    }

    /// Closes the connection and waits until nothing is left of it, for a bounded time.
    pub(crate) async fn end(&self) {
        match self {
            Transport::Stdio(stdio) => stdio.end().await,
            Transport::Http(http) => http.end().await,
            Transport::Sse(sse) => sse.end(),
        }
    }
}

/// The way for requests of a connection.
fn signed(settings: &Settings, world: &World, exchange: &Exchange) -> web::Signed {
    web::Signed::new(world.client.clone(), settings.signer.clone(), exchange.tap().cloned())
}

/// Tells what happens on a connection to whoever wants to know.
fn tap(settings: &Settings, world: &World) -> Option<Arc<Tap>> {
    world.trace.as_ref().map(|trace| Tap::new(trace, settings))
}

//! `HostClient`: HTTP as a tool of ours speaks it. Its connections are judged and noted in the same place as those of confined
//! programs (`access`), so that a tool reaches nothing that its programs would not.
//!
//! It follows no redirect: a 3xx is an answer like any other, and where it leads is judged when it is asked for.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, Uri, header};
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::rt::TokioIo;
use tower_service::Service;

use super::access::{Access, NoWay};
use super::counted::Counted;
use super::dial::{Machine, Network};
use super::host::Destination;
use super::journal::{Attempt, Journal};
use super::names::NamesNet;
use super::reason::Reason;
use super::way::WayOut;
use crate::net::{Body, Client, NetError, NoConnection, causes, pooled};

type BoxError = Box<dyn Error + Send + Sync>;

/// A client for one call. Its connections end with it.
#[derive(Debug)]
pub struct HostClient {
    client: legacy::Client<HttpsConnector<Judged>, Full<Bytes>>,
    judged: Judged,
}

/// Why a request was not sent, or got no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// The host may not be reached.
    #[error("{to} may not be reached: {reason}")]
    Blocked {
        /// What was asked for.
        to: Destination,
        /// Why not.
        reason: Reason,
    },
    /// The address does not name a host in a way that everybody reads alike.
    #[error("the address names no host that can be judged; write a plain host name, without a user")]
    Unreadable,
    /// Something else.
    #[error(transparent)]
    Net(#[from] NetError),
}

impl HostClient {
    /// A client that goes `way` and notes it in `journal`. It speaks TLS as `client` does.
    pub async fn new(client: &Client, way: Arc<WayOut>, journal: Arc<Journal>) -> HostClient {
        HostClient::new_in(client, way, journal, Arc::new(Machine)).await
    }

    async fn new_in(
        client: &Client,
        way: Arc<WayOut>,
        journal: Arc<Journal>,
        network: Arc<dyn Network>,
    ) -> HostClient {
        let judged = Judged(Arc::new(Access::new(way, journal, network, NamesNet::INSIDE)));
        let tls = HttpsConnectorBuilder::new().with_tls_config(client.tls().await.clone());
        let connector = tls.https_or_http().enable_http1().wrap_connector(judged.clone());
        HostClient { client: pooled(connector), judged }
    }

    /// Sends `request`, whose address must be a full http or https one, and returns when the head of the answer is there; its
    /// body follows as it arrives. Waits for the answer without limit. The request names the host of its address, whatever
    /// its headers say.
    ///
    /// # Errors
    /// The host may not be reached, or did not answer.
    pub async fn send(&self, mut request: Request<Bytes>) -> Result<Response<Body>, NoAnswer> {
        let uri = request.uri().clone();
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(NetError::Address.into());
        }
        let to = self.judged.destination(&uri)?;
        // The server behind an address picks one of its hosts by this header.
        request.headers_mut().remove(header::HOST);
        self.client.request(request.map(Full::new)).await.map_err(|error| NoAnswer::of(&uri, to, error))
    }
}

impl NoAnswer {
    fn of(uri: &Uri, to: Destination, error: legacy::Error) -> NoAnswer {
        let blocked =
            causes(&error).find_map(|cause| cause.downcast_ref::<Blocked>().map(|Blocked(why)| *why));
        match blocked {
            Some(reason) => NoAnswer::Blocked { to, reason },
            None => NetError::of(uri, error).into(),
        }
    }
}

/// What the connector says of what is blocked.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Blocked(Reason);

/// Makes connections that are judged.
#[derive(Clone)]
struct Judged(Arc<Access>);

impl std::fmt::Debug for Judged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Judged")
    }
}

impl Judged {
    fn destination(&self, uri: &Uri) -> Result<Destination, NoAnswer> {
        let port = if uri.scheme_str() == Some("https") { 443 } else { 80 };
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        Destination::parse(authority, Some(port)).map_err(|_| {
            // A user in front of the host may be a secret.
            let host = authority.rsplit('@').next().unwrap_or_default();
            self.0.journal().block(Attempt::unreadable(host), Reason::NotAHost);
            NoAnswer::Unreadable
        })
    }
}

impl Service<Uri> for Judged {
    type Response = TokioIo<Counted>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<Counted>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let judged = self.clone();
        Box::pin(async move {
            let to = judged.destination(&uri)?;
            let opened = judged.0.open(&to).await.map_err(no_connection)?;
            Ok(TokioIo::new(Counted::new(opened)))
        })
    }
}

fn no_connection(no_way: NoWay) -> BoxError {
    match no_way {
        NoWay::Blocked(reason) => Blocked(reason).into(),
        NoWay::UnknownName => NoConnection::UnknownName(io::ErrorKind::NotFound.into()).into(),
        NoWay::TooSlow => NoConnection::TooSlow.into(),
        NoWay::Unreachable(error) => error.into(),
        other @ (NoWay::Proxy(_) | NoWay::NoAnswer) => other.into(),
    }
}

#[cfg(test)]
mod tests;

//! From a name to a connection: resolve, connect, secure, all within one time limit.

use std::error::Error;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use tower_service::Service;

use super::reach::{self, Reach};

/// From the name to a connection ready for the request, TLS included.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) type Tcp = HttpConnector<Resolver>;

type BoxError = Box<dyn Error + Send + Sync>;
type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// How long a connection is silent before the system asks whether the other side is still there.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// A connector for plain connections to addresses within `reach`, to be wrapped by `tls` for the others.
pub(super) fn tcp(connect_timeout: Duration, reach: Reach) -> Tcp {
    connector(Resolver { reach }, connect_timeout)
}

fn connector<R>(resolver: R, connect_timeout: Duration) -> HttpConnector<R> {
    let mut tcp = HttpConnector::new_with_resolver(resolver);
    // Requests are small and wait for their answers; collecting bytes would only delay them.
    tcp.set_nodelay(true);
    // A stream may be silent for hours; a server that vanished without a word must be noticed meanwhile.
    tcp.set_keepalive(Some(KEEPALIVE));
    // Shared out over the addresses of a name, so that one dead address does not use up all of it.
    tcp.set_connect_timeout(Some(connect_timeout));
    tcp.enforce_http(false);
    tcp
}

/// TLS 1.2 and 1.3, trusting `roots`.
pub(super) fn tls_config(roots: RootCertStore) -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring offers the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// The same over `tcp`.
pub(super) fn tls<T>(tcp: T, config: ClientConfig) -> HttpsConnector<T> {
    HttpsConnectorBuilder::new().with_tls_config(config).https_only().enable_http1().wrap_connector(tcp)
}

/// The certificates this machine trusts, or Mozilla's on a machine that has none.
pub(super) async fn machine_roots() -> RootCertStore {
    // Reads a few hundred files on some systems. The closure does not panic; if the runtime is
    // shutting down, nobody will use the answer.
    let native = tokio::task::spawn_blocking(rustls_native_certs::load_native_certs).await;
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(native.map(|native| native.certs).unwrap_or_default());
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}

/// Why there is no connection, as far as we decide that and not the system.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoConnection {
    #[error("the name could not be resolved")]
    UnknownName(#[source] io::Error),
    #[error("the address is private")]
    OutOfReach,
    #[error("the connection was not ready in time")]
    TooSlow,
}

/// The addresses of a name. The port of each is `port`.
#[expect(clippy::disallowed_methods, reason = "the one place where names are looked up")]
pub(crate) async fn addresses(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok(tokio::net::lookup_host((host, port)).await?.collect())
}

/// Connects to one of these addresses and to no other, within [`CONNECT_TIMEOUT`]. All have the port of the first. Those
/// of the other kind of IP are tried beside after a moment, since many a network has one of them that leads nowhere.
pub(crate) async fn to_any(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let port = addresses.first().ok_or(io::ErrorKind::NotFound)?.port();
    // The connector wants a name, which `Known` does not look at.
    let uri = format!("http://known:{port}").parse::<Uri>().map_err(io::Error::other)?;
    let mut tcp = connector(Known(addresses), CONNECT_TIMEOUT);
    match timeout(CONNECT_TIMEOUT, tcp.call(uri)).await {
        Ok(Ok(stream)) => Ok(stream.into_inner()),
        Ok(Err(error)) => Err(io_error(&error)),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

fn io_error(error: &(dyn Error + 'static)) -> io::Error {
    match (error.downcast_ref::<io::Error>(), error.source()) {
        (Some(error), _) => error.kind().into(),
        (None, Some(cause)) => io_error(cause),
        (None, None) => io::Error::other(error.to_string()),
    }
}

/// Addresses that somebody has looked up and judged already.
#[derive(Debug, Clone)]
struct Known(Vec<SocketAddr>);

impl Service<Name> for Known {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Name) -> Self::Future {
        std::future::ready(Ok(self.0.clone().into_iter()))
    }
}

/// Connects to the Unix socket at `path`, within [`CONNECT_TIMEOUT`]: a server that takes in nobody lets the
/// system's queue run full.
///
/// # Errors
/// What the system says; `TimedOut` if the server takes too long.
#[expect(clippy::disallowed_methods, reason = "the one way out to a socket")]
pub async fn connect_unix(path: &Path) -> io::Result<UnixStream> {
    timeout(CONNECT_TIMEOUT, UnixStream::connect(path))
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// The system's resolver, with an error of its own so that it can be told from others. Addresses out of reach are
/// left out here, behind which nothing is resolved any more, so that a name cannot lead elsewhere between the
/// check and the connection.
#[derive(Debug, Clone)]
pub(super) struct Resolver {
    reach: Reach,
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = NoConnection;
    type Future = BoxFuture<Result<Self::Response, NoConnection>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NoConnection>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let reach = self.reach;
        Box::pin(async move {
            // The connector puts in the real port.
            let mut found = addresses(name.as_str(), 0).await.map_err(NoConnection::UnknownName)?;
            let is_known = !found.is_empty();
            found.retain(|address| reach.allows(address.ip()));
            if is_known && found.is_empty() {
                return Err(NoConnection::OutOfReach);
            }
            Ok(found.into_iter())
        })
    }
}

/// A connector that gives up after `limit`, whatever it was waiting for, and goes to no address out of `reach`.
#[derive(Debug, Clone)]
pub(super) struct Timed<C> {
    inner: C,
    limit: Duration,
    reach: Reach,
}

impl<C> Timed<C> {
    pub(super) fn new(inner: C, limit: Duration, reach: Reach) -> Timed<C> {
        Timed { inner, limit, reach }
    }
}

impl<C> Service<Uri> for Timed<C>
where
    C: Service<Uri>,
    C::Error: Into<BoxError>,
    C::Future: Send + 'static,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = BoxFuture<Result<C::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(ready!(self.inner.poll_ready(cx)).map_err(Into::into))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        // An address is dialled without the resolver.
        if reach::literal(&uri).is_some_and(|address| !self.reach.allows(address)) {
            return Box::pin(async { Err(NoConnection::OutOfReach.into()) });
        }
        let connecting = timeout(self.limit, self.inner.call(uri));
        Box::pin(async { connecting.await.map_err(|_| NoConnection::TooSlow)?.map_err(Into::into) })
    }
}

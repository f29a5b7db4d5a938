//! The one client for outbound HTTP. It sends what it is given and follows no redirect: a 3xx is an
//! answer like any other, and where it leads is the caller's decision.
//!
//! Which addresses are asked, and for how long an answer is awaited, is left to callers; a client of
//! [`Client::public`] sees to it that none of them is in a private network.

mod company;
mod connect;
mod error;
mod reach;
mod route;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use tokio::sync::OnceCell;

/// What comes behind the head of an answer, as it arrives.
pub use hyper::body::Incoming as Body;

pub(crate) use company::NoTunnel;
pub use company::{CompanyProxy, CompanyProxyError};
use connect::Timed;
pub use connect::{CONNECT_TIMEOUT, connect_unix};
pub(crate) use connect::{NoConnection, addresses, to_any};
pub use error::NetError;
pub(crate) use error::causes;
use error::destination;
use reach::Reach;
pub use reach::is_public;
use route::Route;

/// Connections kept open to one server while nobody uses them. As many as calls that are often under way at
/// once; those in excess would be closed and dialled again with every wave.
const IDLE_PER_HOST_MAX: usize = 256;

/// Shorter than the five seconds after which common servers hang up by themselves, so that a request does
/// not meet a connection that is just being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

type Plain = legacy::Client<Timed<Route>, Full<Bytes>>;
type Secure = legacy::Client<Timed<HttpsConnector<Route>>, Full<Bytes>>;

/// An HTTP/1 client with pooled connections. Clones share the pool.
///
/// Its connections live on the tokio runtime they were opened in, so one runtime should have one
/// client.
#[derive(Debug, Clone)]
pub struct Client {
    plain: Plain,
    /// Made at the first https request: reading the machine's certificates takes milliseconds, and
    /// many runs never need them.
    tls: Arc<OnceCell<ClientConfig>>,
    /// Made from it.
    secure: Arc<OnceCell<Secure>>,
    connect_timeout: Duration,
    reach: Reach,
    company: Option<CompanyProxy>,
    /// The one with a smaller reach, once it was wanted. It has connections of its own: one that leads into a
    /// private network must not be found in its pool.
    public: Arc<OnceLock<Client>>,
}

impl Client {
    /// A client without connections; cheap, and needs no runtime yet.
    #[expect(clippy::new_without_default, reason = "a default for the way out should be written down")]
    pub fn new() -> Client {
        Client::with(CONNECT_TIMEOUT, Reach::Any, None)
    }

    /// A client whose connections to the internet lead through the company's proxy, http and https alike. This machine
    /// and private addresses are reached without it. [`Client::public`] of such a client still wants to know where a
    /// name leads to, and so reaches only names that can be looked up here.
    pub fn through(company: CompanyProxy) -> Client {
        Client::with(CONNECT_TIMEOUT, Reach::Any, Some(company))
    }

    fn with(connect_timeout: Duration, reach: Reach, company: Option<CompanyProxy>) -> Client {
        let route = Route::new(connect::tcp(connect_timeout, reach), company.clone(), reach);
        let plain = pooled(Timed::new(route, connect_timeout, reach));
        let (tls, secure, public) = (Arc::default(), Arc::default(), Arc::default());
        Client { plain, tls, secure, connect_timeout, reach, company, public }
    }

    /// A client with the same limits that connects to addresses of the open internet only, whatever a name leads
    /// to: for addresses that a server tells us. Others fail with [`NetError::Private`].
    pub fn public(&self) -> Client {
        match self.reach {
            Reach::Public => self.clone(),
            Reach::Any => {
                let public = || Client::with(self.connect_timeout, Reach::Public, self.company.clone());
                self.public.get_or_init(public).clone()
            }
        }
    }

    /// The client for addresses that the server at `uri` tells us: one of a private network, or of this machine,
    /// may name its neighbours, any other the open internet only. Looks the name up, which is not bounded in time;
    /// a name without an address is not private.
    pub async fn guarded_like(&self, uri: &Uri) -> Client {
        let addresses = match reach::literal(uri) {
            Some(address) => vec![address],
            None => {
                let (host, port) = destination(uri);
                let found = connect::addresses(&host, port).await.unwrap_or_default();
                found.iter().map(std::net::SocketAddr::ip).collect()
            }
        };
        let is_private = !addresses.is_empty() && !addresses.into_iter().any(reach::is_public);
        if is_private { self.clone() } else { self.public() }
    }

    /// Sends `request`, whose address must be a full http or https one, and returns when the head of
    /// the answer is there; its body follows as it arrives. Waits for the answer without limit. Its head may
    /// hold 100 headers and about 400 KiB, which are the library's limits.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, NetError> {
        let uri = request.uri().clone();
        let answer = match uri.scheme_str() {
            Some("http") => self.plain.request(request).await,
            Some("https") => self.secure().await.request(request).await,
            _ => return Err(NetError::Address),
        };
        answer.map_err(|error| NetError::of(&uri, error))
    }

    async fn secure(&self) -> &Secure {
        self.secure.get_or_init(|| async { self.speaking(self.tls().await.clone()) }).await
    }

    /// How TLS is spoken, also over connections that are made elsewhere.
    pub(crate) async fn tls(&self) -> &ClientConfig {
        self.tls.get_or_init(|| async { connect::tls_config(connect::machine_roots().await) }).await
    }

    fn speaking(&self, config: ClientConfig) -> Secure {
        let tcp = connect::tcp(self.connect_timeout, self.reach);
        let tls = connect::tls(Route::new(tcp, self.company.clone(), self.reach), config);
        pooled(Timed::new(tls, self.connect_timeout, self.reach))
    }
}

pub(crate) fn pooled<C>(connector: C) -> legacy::Client<C, Full<Bytes>>
where
    C: legacy::connect::Connect + Clone,
{
    legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(IDLE_PER_HOST_MAX)
        .build(connector)
}

#[cfg(test)]
mod tests;

//! Where the browser comes back to, and the socket that waits for it there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use http::Uri;
use tokio::net::TcpListener;

use crate::error::{Failure, Reason};
use crate::settings::Redirect;

const PATH: &str = "/callback";

/// Where the browser comes back to.
pub(crate) struct Landing {
    /// The address as the authorisation server is told.
    pub(crate) uri: String,
    /// Who waits there; nobody if the address is not one of this machine.
    pub(crate) listener: Option<TcpListener>,
}

impl Landing {
    /// Waits for the browser as `redirect` wants it; `before` is where it came back to at an earlier sign-in, which
    /// is tried first because a server may know us by it.
    ///
    /// # Errors
    /// The port is used by another program, or the address is none.
    pub(crate) async fn open(redirect: &Redirect, before: Option<&str>) -> Result<Landing, Failure> {
        match redirect {
            Redirect::AnyPort => {
                if let Some(port) = before.and_then(port_of)
                    && let Ok(landing) = Landing::at(port).await
                {
                    return Ok(landing);
                }
                Landing::at(0).await
            }
            Redirect::Port(port) => Landing::at(*port).await,
            Redirect::Uri(uri) => Landing::here(uri).await,
        }
    }

    async fn at(port: u16) -> Result<Landing, Failure> {
        let listener = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
        let port = listener.local_addr().map_err(|error| unusable(port, &error))?.port();
        Ok(Landing { uri: format!("http://127.0.0.1:{port}{PATH}"), listener: Some(listener) })
    }

    /// A configured address: if it is http and of this machine, somebody waits there.
    async fn here(text: &str) -> Result<Landing, Failure> {
        let uri: Uri = text
            .parse()
            .ok()
            .filter(|uri: &Uri| uri.scheme().is_some() && uri.host().is_some())
            .ok_or_else(no_address)?;
        let address = match uri.host().unwrap_or_default() {
            "127.0.0.1" | "localhost" => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            "[::1]" => Some(IpAddr::V6(Ipv6Addr::LOCALHOST)),
            _ => None,
        };
        let listener = match address.filter(|_| uri.scheme_str() == Some("http")) {
            Some(address) => Some(bind(SocketAddr::new(address, uri.port_u16().unwrap_or(80))).await?),
            None => None,
        };
        Ok(Landing { uri: text.to_owned(), listener })
    }
}

#[expect(clippy::disallowed_methods, reason = "the browser of a sign-in comes back to this listener")]
async fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| unusable(address.port(), &error))
}

fn unusable(port: u16, error: &std::io::Error) -> Failure {
    if error.kind() == std::io::ErrorKind::AddrInUse {
        return settings(format!(
            "port {port}, which the browser would come back to, is used by another program: end it, or configure \
             another port"
        ));
    }
    settings(format!("port {port}, which the browser would come back to, cannot be opened: {error}"))
}

/// What is configured is no address to come back to.
pub(super) fn no_address() -> Failure {
    settings("\"redirect_uri\" is not a whole address")
}

fn settings(why: impl Into<String>) -> Failure {
    Failure::new(Reason::Settings, why)
}

/// The port of an address that was ours.
fn port_of(uri: &str) -> Option<u16> {
    let uri: Uri = uri.parse().ok()?;
    (uri.host() == Some("127.0.0.1")).then(|| uri.port_u16()).flatten()
}

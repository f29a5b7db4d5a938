//! Why a request got no answer, in sentences that may leave the program: host and port, never the
//! rest of the address.

use std::error::Error;
use std::io;

use http::Uri;
use hyper_util::client::legacy;

use rustls::CertificateError;

use super::company::NoTunnel;
use super::connect::NoConnection;

/// Why a request got no answer: the host that was asked, mostly with its port, and what was noticed.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// The address is not a full http or https one.
    #[error("only full http and https addresses can be reached")]
    Address,
    /// Nobody listens there.
    #[error("{0} refuses connections; check that the server is running and the port is right")]
    Refused(String),
    /// The name has no address.
    #[error("the name {0} could not be resolved")]
    Dns(String, #[source] legacy::Error),
    /// The address is not one of the open internet, and the client goes to no other.
    #[error("{0} is a private address, which a public server must not send us to")]
    Private(String),
    /// No secure connection could be agreed on.
    #[error("no secure connection to {0}: {1}; {way}", way = way_out(.1))]
    Tls(String, rustls::Error),
    /// The connection was not ready within `CONNECT_TIMEOUT`.
    #[error("{0} could not be reached in time")]
    Timeout(String),
    /// The proxy of the company did not lead there; nothing was sent.
    #[error("{0} cannot be reached: {1}; check the address of the proxy and what it allows")]
    Company(String, String),
    /// The server closed the connection before it had answered; the request may have had its effect.
    #[error("{0} closed the connection without an answer")]
    Closed(String, #[source] legacy::Error),
    /// Something else, such as an answer that is not HTTP.
    #[error("the request to {0} failed")]
    Other(String, #[source] legacy::Error),
}

impl NetError {
    /// Names the failure of a request to `uri`.
    pub(crate) fn of(uri: &Uri, source: legacy::Error) -> NetError {
        let (host, port) = destination(uri);
        let server = format!("{host}:{port}");
        // Only before the request was sent do these mean that it was not.
        let connecting = source.is_connect();
        let kind = causes(&source).find_map(kind).filter(|kind| connecting || matches!(kind, Kind::Closed));
        match kind {
            Some(Kind::Refused) => NetError::Refused(server),
            Some(Kind::Dns) => NetError::Dns(host, source),
            Some(Kind::Private) => NetError::Private(host),
            Some(Kind::Tls(reason)) => NetError::Tls(server, reason),
            Some(Kind::Timeout) => NetError::Timeout(server),
            Some(Kind::Company(why)) => NetError::Company(server, why),
            Some(Kind::Closed) => NetError::Closed(server, source),
            None => NetError::Other(server, source),
        }
    }
}

/// Host and port of an address, and nothing else of it: a query or user information may be secret.
pub(super) fn destination(uri: &Uri) -> (String, u16) {
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
    (uri.host().unwrap_or_default().to_owned(), port)
}

/// What to do about a secure connection that cannot be.
fn way_out(reason: &rustls::Error) -> &'static str {
    let rustls::Error::InvalidCertificate(wrong) = reason else {
        return "check that the server speaks https at this port";
    };
    match wrong {
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "use a host name that is in its certificate"
        }
        CertificateError::UnknownIssuer => {
            "if you trust whoever issued it, add that certificate to those of this machine, or name its file in \
             SSL_CERT_FILE"
        }
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => {
            "check the clock of this machine; if that is right, the server needs a new certificate"
        }
        _ => "the server needs another certificate",
    }
}

enum Kind {
    Refused,
    Dns,
    Private,
    Tls(rustls::Error),
    Timeout,
    Company(String),
    Closed,
}

/// What one link of the chain of causes says, if it says enough.
fn kind(cause: &Cause) -> Option<Kind> {
    if let Some(reason) = cause.downcast_ref::<NoConnection>() {
        return Some(match reason {
            NoConnection::UnknownName(_) => Kind::Dns,
            NoConnection::OutOfReach => Kind::Private,
            NoConnection::TooSlow => Kind::Timeout,
        });
    }
    if let Some(reason) = cause.downcast_ref::<NoTunnel>() {
        return Some(Kind::Company(reason.to_string()));
    }
    if let Some(reason) = cause.downcast_ref::<rustls::Error>() {
        return Some(Kind::Tls(reason.clone()));
    }
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        return (error.is_incomplete_message() || error.is_canceled() || error.is_closed())
            .then_some(Kind::Closed);
    }
    match cause.downcast_ref::<io::Error>()?.kind() {
        io::ErrorKind::ConnectionRefused => Some(Kind::Refused),
        io::ErrorKind::TimedOut => Some(Kind::Timeout),
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof => Some(Kind::Closed),
        _ => None,
    }
}

pub(crate) type Cause = dyn Error + 'static;

/// An error and what caused it, one after the other.
pub(crate) fn causes(error: &Cause) -> impl Iterator<Item = &Cause> {
    std::iter::successors(Some(error), next_cause)
}

fn next_cause<'a>(&error: &&'a Cause) -> Option<&'a Cause> {
    match error.downcast_ref::<io::Error>() {
        // `source` of an I/O error skips the error it wraps.
        Some(wrapper) => wrapper.get_ref().map(|inner| inner as &Cause),
        None => error.source(),
    }
}

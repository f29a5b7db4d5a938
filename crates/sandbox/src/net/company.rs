//! `CompanyProxy`: the HTTP proxy through which some networks alone let anybody out. It is asked for a tunnel (CONNECT),
//! and is told where to, never what is said.

use std::fmt;
use std::io;
use std::time::Duration;

use data_encoding::{BASE64, HEXLOWER_PERMISSIVE};
use http::Uri;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::connect;

/// From the proxy's name to its answer: it may have to look up a name and connect itself.
const TUNNEL_TIMEOUT: Duration = Duration::from_secs(20);

/// The head of the proxy's answer. Proxies say little; a page with reasons follows the head.
const HEAD_BYTES_MAX: usize = 16 * 1024;

const HEAD_END: &[u8] = b"\r\n\r\n";

/// An HTTP proxy for connections to the internet. Neither `Debug` nor `Display` tells the password.
#[derive(Clone, PartialEq, Eq)]
pub struct CompanyProxy {
    host: String,
    port: u16,
    /// The value of the header, as it is sent.
    authorization: Option<String>,
}

/// Why an address is not that of a proxy. Says nothing of what was written, which may hold a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a proxy is written as http://host:port or http://user:password@host:port, with nothing behind the port"
)]
pub struct CompanyProxyError;

/// Why there is no tunnel.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoTunnel {
    #[error("the proxy of the company cannot be reached")]
    Unreachable(#[source] io::Error),
    #[error("the proxy of the company wants a user and a password, or others than it was given")]
    SignIn,
    #[error("the proxy of the company refuses it with status {0}")]
    Refused(u16),
    #[error("the proxy of the company does not answer as a proxy does")]
    NoProxy,
    #[error("the proxy of the company took too long")]
    TooSlow,
}

impl CompanyProxy {
    /// Reads `http://[user:password@]host:port`.
    ///
    /// # Errors
    /// For anything else.
    pub fn parse(text: &str) -> Result<CompanyProxy, CompanyProxyError> {
        let uri: Uri = text.parse().map_err(|_| CompanyProxyError)?;
        let is_bare = matches!(uri.path(), "" | "/") && uri.query().is_none();
        let (Some("http"), Some(authority), true) = (uri.scheme_str(), uri.authority(), is_bare) else {
            return Err(CompanyProxyError);
        };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = authority.port_u16().filter(|port| *port != 0).ok_or(CompanyProxyError)?;
        let authorization = match authority.as_str().rsplit_once('@') {
            Some((user, _)) => Some(format!("Basic {}", BASE64.encode(&decode(user)?))),
            None => None,
        };
        if host.is_empty() {
            return Err(CompanyProxyError);
        }
        Ok(CompanyProxy { host, port, authorization })
    }

    /// A connection to `target`, a host and its port, through the proxy.
    pub(crate) async fn tunnel(&self, target: &str) -> Result<TcpStream, NoTunnel> {
        timeout(TUNNEL_TIMEOUT, self.ask(target)).await.map_err(|_| NoTunnel::TooSlow)?
    }

    async fn ask(&self, target: &str) -> Result<TcpStream, NoTunnel> {
        let addresses = connect::addresses(&self.host, self.port).await.map_err(NoTunnel::Unreachable)?;
        let mut stream = connect::to_any(addresses).await.map_err(NoTunnel::Unreachable)?;
        let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
        if let Some(authorization) = &self.authorization {
            request.push_str(&format!("Proxy-Authorization: {authorization}\r\n"));
        }
        request.push_str("\r\n");
        stream.write_all(request.as_bytes()).await.map_err(NoTunnel::Unreachable)?;
        match status(&read_head(&mut stream).await?).ok_or(NoTunnel::NoProxy)? {
            200..=299 => Ok(stream),
            407 => Err(NoTunnel::SignIn),
            status => Err(NoTunnel::Refused(status)),
        }
    }
}

/// The bytes behind `%` as they are meant. A password has colons and at signs only like that.
fn decode(text: &str) -> Result<Vec<u8>, CompanyProxyError> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.as_bytes().split_at_checked(2).ok_or(CompanyProxyError)?;
        bytes.extend(HEXLOWER_PERMISSIVE.decode(digits).map_err(|_| CompanyProxyError)?);
        bytes.extend_from_slice(rest);
    }
    Ok(bytes)
}

/// Reads up to the end of the head and no further: what follows is the other side's.
async fn read_head(stream: &mut TcpStream) -> Result<Vec<u8>, NoTunnel> {
    let mut head = Vec::new();
    let mut chunk = [0; 1024];
    while !head.ends_with(HEAD_END) {
        let seen = stream.peek(&mut chunk).await.map_err(NoTunnel::Unreachable)?;
        if seen == 0 || head.len() + seen > HEAD_BYTES_MAX {
            return Err(NoTunnel::NoProxy);
        }
        let (before, had) = (head.len().saturating_sub(HEAD_END.len() - 1), head.len());
        head.extend_from_slice(&chunk[..seen]);
        if let Some(at) = head[before..].windows(HEAD_END.len()).position(|window| window == HEAD_END) {
            head.truncate(before + at + HEAD_END.len());
        }
        let taken = head.len() - had;
        stream.read_exact(&mut chunk[..taken]).await.map_err(NoTunnel::Unreachable)?;
    }
    Ok(head)
}

fn status(head: &[u8]) -> Option<u16> {
    let line = head.strip_prefix(b"HTTP/1.1 ").or_else(|| head.strip_prefix(b"HTTP/1.0 "))?;
    std::str::from_utf8(line.get(..3)?).ok()?.parse().ok()
}

impl fmt::Display for CompanyProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = if self.authorization.is_some() { "…@" } else { "" };
        match self.host.contains(':') {
            true => write!(f, "http://{user}[{}]:{}", self.host, self.port),
            false => write!(f, "http://{user}{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Debug for CompanyProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CompanyProxy({self})")
    }
}

#[cfg(test)]
mod tests;

//! A server that is reached over HTTP with server-sent events (revision 2024-11-05): one GET that stays open
//! and brings everything, and POSTs to the address that it names first.

use std::sync::Arc;
use std::time::Duration;

use http::{StatusCode, Uri};
use tokio::time::timeout;
use url::Url;
use wire::http::EVENT_STREAM;
use wire::sse::ENDPOINT;

use super::http::{Peer, Place, Stream, body, read_events, status};
use super::pending::{Parting, Via};
use crate::config::shown_url;
use crate::fault::Fault;
use crate::settings::Mask;

/// How long a server may take to say where messages go.
const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest address of an endpoint, in bytes.
const ENDPOINT_BYTES_MAX: usize = 4 * 1024;

/// How much of an endpoint is shown, in bytes.
const SHOWN_BYTES_MAX: usize = 200;

/// Opens the stream and waits until the server has said where messages go. Must be called within a runtime.
///
/// # Errors
/// If there is no such stream at `url`, or messages would go to another origin.
pub(super) async fn open(dial: Peer, url: &Uri) -> Result<Arc<Peer>, Fault> {
    let late = |_| Fault::Broken(format!("it named no endpoint within {} s", ENDPOINT_TIMEOUT.as_secs()));
    let (stream, endpoint) = timeout(ENDPOINT_TIMEOUT, opened(&dial)).await.map_err(late)??;
    let endpoint = resolve(url, &endpoint, &dial.exchange.mask).map_err(Fault::Broken)?;
    let peer = Arc::new(dial.over_sse(endpoint));
    // Owned by the connection's token, which it hears.
    peer.runtime.spawn(read(stream, peer.clone()));
    Ok(peer)
}

/// The stream, and what its first event says about where messages go.
async fn opened(dial: &Peer) -> Result<(Stream, String), Fault> {
    let response = dial.open_stream(None).await?;
    if response.status() != StatusCode::OK {
        return Err(status::refused(response, &dial.exchange.mask).await);
    }
    if !body::is_a(&response, EVENT_STREAM) {
        return Err(Fault::Broken("it offers no stream of events".to_owned()));
    }
    let mut stream = Stream::new(response.into_body());
    loop {
        let event = stream.next().await?;
        if event.kind == ENDPOINT {
            return Ok((stream, event.data));
        }
    }
}

/// Hands out what the server says until the stream ends, and the connection with it.
async fn read(mut stream: Stream, peer: Arc<Peer>) {
    let mut place = Place::default();
    let reading = read_events(&mut stream, &peer, Via::Shared, &mut place);
    let fault = match peer.exchange.pending.closed.run_until_cancelled(reading).await {
        None => return,
        Some(Err(fault @ Fault::Broken(_))) => fault,
        Some(_) => Fault::Gone("closed the connection".to_owned()),
    };
    peer.exchange.pending.end(Parting::ByItself, &fault);
}

/// The address that `endpoint` means at `base`, which is a full address.
///
/// # Errors
/// If it is none, or leads to another origin, or a server could make us send our credentials to another one; as a
/// sentence without what may be secret in it.
fn resolve(base: &Uri, endpoint: &str, mask: &Mask) -> Result<Uri, String> {
    let endpoint = endpoint.trim_ascii();
    if endpoint.is_empty() || endpoint.len() > ENDPOINT_BYTES_MAX {
        return Err(format!("its endpoint is no address of 1 to {ENDPOINT_BYTES_MAX} bytes"));
    }
    let shown = |address: &str| mask.sentence(&shown_url(address), SHOWN_BYTES_MAX);
    let no_address = || format!("its endpoint is no address: {}", shown(endpoint));
    let base = Url::parse(&base.to_string()).map_err(|_| no_address())?;
    let mut url = base.join(endpoint).map_err(|_| no_address())?;
    url.set_fragment(None);
    let has_user = !url.username().is_empty() || url.password().is_some();
    if url.origin() != base.origin() || has_user {
        return Err(format!("its endpoint is at another origin, which is refused: {}", shown(url.as_str())));
    }
    url.as_str().parse().map_err(|_| no_address())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(base: &str, endpoint: &str, expected: Result<&str, &str>) {
        let resolved = resolve(&base.parse().expect("an address"), endpoint, &Mask::default())
            .map(|uri| uri.to_string());
        assert_eq!(resolved.as_deref().map_err(String::as_str), expected, "{endpoint} at {base}");
    }

    #[test]
    fn an_endpoint_is_absolute_or_relative() {
        const BASE: &str = "http://host:8080/api/sse?key=1";
        for (endpoint, expected) in [
            ("/messages/?session_id=5", "http://host:8080/messages/?session_id=5"),
            (" messages/?s=a/b#x ", "http://host:8080/api/messages/?s=a/b"),
            ("./message", "http://host:8080/api/message"),
            ("../a/./b/", "http://host:8080/a/b/"),
            ("../../..", "http://host:8080/"),
            ("?s=1", "http://host:8080/api/sse?s=1"),
            ("//HOST:8080/m", "http://host:8080/m"),
            ("http://host:8080/m?x=http://y", "http://host:8080/m?x=http://y"),
        ] {
            check(BASE, endpoint, Ok(expected));
        }
        check("https://host/sse", "https://HOST:443/m", Ok("https://host/m"));
        check("http://[::1]/sse", "http://[::1]:80/m", Ok("http://[::1]/m"));
    }

    #[test]
    fn another_origin_is_refused_and_no_secret_said() {
        const BASE: &str = "http://host:8080/sse";
        for (endpoint, shown) in [
            ("http://other:8080/m?s=s3cret", "http://other:8080/m"),
            ("https://host:8080/m", "https://host:8080/m"),
            ("http://host/m", "http://host/m"),
            ("//host:8081/m", "http://host:8081/m"),
            ("http://me:s3cret@host:8080/m", "http://host:8080/m"),
            ("ftp://host:8080/m", "ftp://host:8080/m"),
            (r"\\evil/m", "http://evil/m"),
            ("http://host:8080.evil/m", "http://host:8080.evil/m"),
        ] {
            let resolved = resolve(&Uri::from_static(BASE), endpoint, &Mask::default()).expect_err("refused");
            assert!(resolved.ends_with(shown) && !resolved.contains("s3cret"), "{endpoint}: {resolved}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        const BASE: &str = "http://host/sse";
        for endpoint in ["", " ", "mailto:me", "http://", "javascript:alert(1)"] {
            assert!(resolve(&Uri::from_static(BASE), endpoint, &Mask::default()).is_err(), "{endpoint:?}");
        }
        assert!(
            resolve(&Uri::from_static(BASE), &"x".repeat(ENDPOINT_BYTES_MAX + 1), &Mask::default()).is_err()
        );
    }
}

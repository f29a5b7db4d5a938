//! A server that is reached over HTTP with server-sent events (revision 2024-11-05): one GET that stays open
//! and brings everything, and POSTs to the address that it names first.

mod endpoint;

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, StatusCode, Uri};
use tokio::time::timeout;
use wire::http::EVENT_STREAM;
use wire::sse::ENDPOINT;

use super::exchange::Exchange;
use super::http::{Http, Peer, Place, Session, Signed, Stream, body, read_events, status};
use super::pending::Parting;
use super::via::Via;
use crate::fault::Fault;

/// How long a server may take to say where messages go.
const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens the stream and waits until the server has said where messages go. Must be called within a runtime.
///
/// # Errors
/// If there is no such stream at `url`, or messages would go to another origin.
pub(super) async fn open(
    signed: Signed,
    url: &Uri,
    headers: &HeaderMap,
    exchange: Arc<Exchange>,
) -> Result<Http, Fault> {
    let dial = Peer::new(signed.clone(), url.clone(), headers, exchange.clone(), Session::InHeader);
    let late = |_| Fault::Broken(format!("it named no endpoint within {} s", ENDPOINT_TIMEOUT.as_secs()));
    let (stream, endpoint) = timeout(ENDPOINT_TIMEOUT, opened(&dial)).await.map_err(late)??;
    let endpoint = endpoint::resolve(url, &endpoint, &exchange.mask).map_err(Fault::Broken)?;
    let http = Http::new(Peer::new(signed, endpoint, headers, exchange, Session::InAddress));
    // Owned by the connection's token, which it hears.
    http.peer.runtime.spawn(read(stream, http.peer.clone()));
    Ok(http)
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
    let fault = match peer.exchange.closed.run_until_cancelled(reading).await {
        None => return,
        Some(Err(fault @ Fault::Broken(_))) => fault,
        Some(_) => Fault::Gone("closed the connection".to_owned()),
    };
    peer.exchange.close(Parting::ByItself, &fault);
}

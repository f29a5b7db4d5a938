//! A server that is reached over HTTP with server-sent events (revision 2024-11-05): one GET that stays open
//! and brings everything, and POSTs to the address that it names first.

mod endpoint;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, Uri};
use tokio::task::JoinSet;
use tokio::time::timeout;
use wire::http::EVENT_STREAM;
use wire::sse::ENDPOINT;

use super::exchange::Exchange;
use super::http::{Http, Peer, Session, Signed, Stream, body, status};
use super::pending::Parting;
use super::via::Via;
use crate::fault::Fault;

/// How long a server may take to say where messages go.
const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(10);

/// Answers of ours that are on their way at once. While there are more, nothing is read.
const ANSWERS_MAX: usize = 16;

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
    let closed = peer.exchange.closed.clone();
    let mut answering = JoinSet::new();
    let reading = async {
        loop {
            match stream.next_message().await {
                Ok(frame) => take_in(&peer, frame, &mut answering).await,
                Err(Fault::Broken(why)) => return Fault::Broken(why),
                Err(_) => return Fault::Gone("closed the connection".to_owned()),
            }
        }
    };
    tokio::select! {
        fault = reading => peer.exchange.close(Parting::ByItself, &fault),
        () = closed.cancelled() => {}
    }
}

/// Hands a message to the exchange. What that wants to say to the server goes out while more is read: the
/// server may accept it only after it has said something itself.
async fn take_in(peer: &Arc<Peer>, frame: Bytes, answering: &mut JoinSet<()>) {
    let mut answers = Vec::new();
    peer.exchange.take_in(frame, Via::Shared, &mut |answer| answers.push(answer));
    while answering.try_join_next().is_some() {}
    if answers.is_empty() {
        return;
    }
    if answering.len() >= ANSWERS_MAX {
        // Bounded by the time that each of them has.
        answering.join_next().await;
    }
    let peer = peer.clone();
    answering.spawn(async move { peer.tell_all(answers).await });
}

//! A server that is reached over HTTP with server-sent events (revision 2024-11-05): one GET that stays open
//! and brings everything, and POSTs to the address that it names first.

mod endpoint;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, Uri};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::DropGuard;
use wire::http::EVENT_STREAM;
use wire::sse::ENDPOINT;
use wire::{Revision, write};

use super::exchange::Exchange;
use super::http::{Peer, Session, Signed, Stream, body, status};
use super::outgoing::{Outgoing, Work};
use super::pending::Parting;
use super::via::Via;
use crate::fault::Fault;

/// How long a server may take to say where messages go.
const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a server may take to accept a request. It should do so at once; some answer first.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(60);

/// Answers of ours that are on their way at once. While there are more, nothing is read.
const ANSWERS_MAX: usize = 16;

/// An open way to a server.
pub(crate) struct Sse {
    peer: Arc<Peer>,
    /// Ends the reading task when the connection is dropped.
    _close_on_drop: DropGuard,
}

impl Sse {
    /// Opens the stream and waits until the server has said where messages go. Must be called within a runtime.
    ///
    /// # Errors
    /// If there is no such stream at `url`, or messages would go to another origin.
    pub(super) async fn open(
        signed: Signed,
        url: &Uri,
        headers: &HeaderMap,
        exchange: Arc<Exchange>,
    ) -> Result<Sse, Fault> {
        let dial = Peer::new(signed.clone(), url.clone(), headers, exchange.clone(), Session::InHeader);
        let opening = timeout(ENDPOINT_TIMEOUT, opened(&dial)).await;
        let late = |_| Fault::Broken(format!("it named no endpoint within {} s", ENDPOINT_TIMEOUT.as_secs()));
        let (stream, said) = opening.map_err(late)??;
        let endpoint = endpoint::resolve(url, &said, exchange.mask()).map_err(Fault::Broken)?;
        let peer = Arc::new(Peer::new(signed, endpoint, headers, exchange, Session::InAddress));
        // Owned by the connection's token, which it hears.
        peer.runtime().spawn(read(stream, peer.clone()));
        let close_on_drop = peer.exchange().closed().clone().drop_guard();
        Ok(Sse { peer, _close_on_drop: close_on_drop })
    }

    /// The work that hands in a request; its answer comes over the stream. Nothing happens unless it is polled.
    pub(super) fn request(&self, outgoing: &Outgoing<'_>) -> Work {
        let (message, headers) = (outgoing.message(), outgoing.headers());
        let peer = self.peer.clone();
        Box::pin(async move {
            // In a task of its own: the answer may be there before the server has accepted the request, and
            // hanging up on it then could look like giving up.
            let handing_in = peer.runtime().spawn({
                let peer = peer.clone();
                async move { timeout(ACCEPT_TIMEOUT, peer.hand_in(message, headers)).await }
            });
            match handing_in.await {
                // Past the limit the answer may still come.
                Ok(Ok(Ok(())) | Err(_)) => Ok(()),
                Ok(Ok(Err(fault))) => Err(fault),
                Err(_) => Err(Fault::Gone("got lost".to_owned())),
            }
        })
    }

    /// Fixes the revision and says that we are ready.
    pub(super) async fn agreed(&self, revision: Revision) -> Result<(), Fault> {
        self.peer.agree(revision);
        let mut message = Vec::with_capacity(64);
        write::notification(&mut message, "notifications/initialized", None);
        self.peer.tell(message).await
    }

    /// Sends a notification, or an answer to a request of the server, from a task of its own, since the caller
    /// cannot wait.
    pub(super) fn tell_later(&self, message: Vec<u8>) {
        self.peer.tell_later(message);
    }

    /// Closes the stream, with which the session ends.
    pub(super) fn end(&self) {
        self.peer.exchange().close(Parting::Dismissed, &Fault::Gone("was shut down".to_owned()));
    }
}

/// The stream, and what its first event says about where messages go.
async fn opened(dial: &Peer) -> Result<(Stream, String), Fault> {
    let response = dial.open_stream(None).await?;
    if response.status() != StatusCode::OK {
        return Err(status::refused(response, dial.exchange().mask()).await);
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
    let closed = peer.exchange().closed().clone();
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
        fault = reading => peer.exchange().close(Parting::ByItself, &fault),
        () = closed.cancelled() => {}
    }
}

/// Hands a message to the exchange. What that wants to say to the server goes out while more is read: the
/// server may accept it only after it has said something itself.
async fn take_in(peer: &Arc<Peer>, frame: Bytes, answering: &mut JoinSet<()>) {
    let mut answers = Vec::new();
    peer.exchange().take_in(frame, Via::Shared, &mut |answer| answers.push(answer));
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

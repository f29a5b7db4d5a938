//! A server that is reached over Streamable HTTP, in every revision that has it.
//!
//! Each request is one POST whose body holds the answer, alone or in a stream of events. In the legacy revisions
//! (2025-03-26 to 2025-11-25) there is a session, a cut stream may be read on, and what the server says unasked
//! comes over one GET that stays open. In the modern one (2026-07-28) there is nothing but the POST, which
//! repeats in headers what its body says.

pub(super) mod body;
mod listen;
mod peer;
mod request;
mod resume;
mod signed;
pub(super) mod status;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use wire::{Revision, write};

use super::pending::Parting;
use super::request::{Request, Work};
use crate::fault::Fault;

pub(super) use peer::Peer;
pub(super) use stream::{Place, Stream, read_events};

/// How long a server may take to open the stream on which it says what no request asked for.
const LISTEN_WAIT_MAX: Duration = Duration::from_secs(1);

/// How long `end` waits for the session to be closed.
const END_MAX: Duration = Duration::from_secs(2);

impl Peer {
    /// The work that sends a request and brings its answer to the exchange. Nothing happens unless it is
    /// polled; dropping it hangs up, which cancels a modern request.
    pub(super) fn work(self: &Arc<Self>, id: u64, modern: bool, request: &Request<'_>) -> Work {
        let (message, headers) = (request.message(id), request.headers(modern));
        let peer = self.clone();
        if peer.is_sse() {
            return Box::pin(async move { peer.hand_in_request(message, headers).await });
        }
        let rules = status::Rules::of(modern, request.method);
        Box::pin(async move { peer.request(id, message, headers, rules).await })
    }

    /// Fixes the revision of a legacy session, says that we are ready, and listens from now on. What a server asks
    /// of its own accord comes there, and is lost if nobody listens yet when the first call is made.
    pub(super) async fn agreed(self: &Arc<Self>, revision: Revision) -> Result<(), Fault> {
        // Set once: there is one handshake on a connection.
        let _ = self.revision.set(revision);
        let mut message = Vec::with_capacity(64);
        write::notification(&mut message, "notifications/initialized", None);
        self.tell(message).await?;
        if !self.is_sse() {
            // Owned by the connection's token, which it hears.
            let tried = CancellationToken::new();
            self.runtime.spawn(listen::listen(self.clone(), tried.clone()));
            // Some servers send nothing, not even the head of their answer, before they have something to say.
            let _ = timeout(LISTEN_WAIT_MAX, tried.cancelled()).await;
        }
        Ok(())
    }

    /// Closes the session, if the server gave us one.
    pub(super) async fn end(&self) {
        self.exchange.pending.end(Parting::Dismissed, &Fault::Gone("was shut down".to_owned()));
        if self.has_session() && !self.is_sse() {
            // A server may refuse this (405); the session then ends by its age.
            let _ = timeout(END_MAX, self.close_session()).await;
        }
    }
}

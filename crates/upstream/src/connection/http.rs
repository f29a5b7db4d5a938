//! A server that is reached over Streamable HTTP (revisions 2025-03-26 to 2025-11-25).
//!
//! Each request is one POST whose body holds the answer, alone or in a stream of events. What the server
//! says unasked comes over one GET that stays open, if it offers that.

mod body;
mod listen;
mod status;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use sandbox::{Client, NetError};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::sync::DropGuard;
use wire::http::{EVENT_STREAM, JSON, PROTOCOL_VERSION, SESSION_ID};
use wire::{Id, Revision, write};

use super::{Exchange, Fault, Listener, Reply, Waiting};

/// How long a server may take to accept a notification or an answer of ours.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long `end` waits for the session to be closed.
const END_MAX: Duration = Duration::from_secs(2);

/// A session with a server.
pub(crate) struct Http {
    peer: Arc<Peer>,
    /// Ends the listening task when the connection is dropped.
    _close_on_drop: DropGuard,
}

/// What the calling tasks and the listening one share.
struct Peer {
    client: Client,
    url: Uri,
    /// The configured headers, and those that every request has.
    headers: HeaderMap,
    session: OnceLock<HeaderValue>,
    revision: OnceLock<Revision>,
    exchange: Arc<Exchange>,
    runtime: Handle,
}

impl Http {
    /// Gets ready to dial; nothing is sent yet. Must be called within a runtime.
    pub(super) fn new(client: Client, url: &Uri, headers: &HeaderMap, exchange: Arc<Exchange>) -> Http {
        let mut headers = headers.clone();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        let close_on_drop = exchange.closed().clone().drop_guard();
        let peer = Peer {
            client,
            url: url.clone(),
            headers,
            session: OnceLock::new(),
            revision: OnceLock::new(),
            exchange,
            runtime: Handle::current(),
        };
        Http { peer: Arc::new(peer), _close_on_drop: close_on_drop }
    }

    pub(super) fn exchange(&self) -> &Arc<Exchange> {
        &self.peer.exchange
    }

    pub(super) async fn request(
        &self,
        waiting: Waiting<'_>,
        method: &str,
        params: Option<&[u8]>,
        listener: Listener<'_>,
    ) -> Result<Reply, Fault> {
        let mut message = Vec::with_capacity(params.map_or(0, <[u8]>::len) + 80);
        write::request(&mut message, &Id::number(waiting.id()), method, params);
        self.peer.request(waiting, message, listener).await
    }

    /// Fixes the revision, says that we are ready, and listens from now on.
    pub(super) async fn agreed(&self, revision: Revision) -> Result<(), Fault> {
        // Set once: there is one handshake on a connection.
        let _ = self.peer.revision.set(revision);
        let mut message = Vec::with_capacity(64);
        write::notification(&mut message, "notifications/initialized", None);
        self.peer.tell(message).await?;
        // Owned by the connection's token, which it hears.
        self.peer.runtime.spawn(listen::listen(self.peer.clone()));
        Ok(())
    }

    /// Sends a notification from a task of its own, since the caller cannot wait.
    pub(super) fn notify_later(&self, method: &str, params: &[u8]) {
        let mut message = Vec::with_capacity(128);
        write::notification(&mut message, method, Some(params));
        let peer = self.peer.clone();
        // Bounded by its timeout; at most one for each call that is given up.
        self.peer.runtime.spawn(async move { peer.tell(message).await });
    }

    /// Closes the session, if the server gave us one.
    pub(super) async fn end(&self) {
        self.peer.exchange.close(&Fault::Gone("was shut down".to_owned()));
        if self.peer.session.get().is_some() {
            let request = self.peer.head(Method::DELETE, Bytes::new());
            // A server may refuse this (405); the session then ends by its age.
            let _ = timeout(END_MAX, self.peer.client.send(request)).await;
        }
    }
}

impl Peer {
    /// A request with all headers that are due.
    fn head(&self, method: Method, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.url.clone();
        let headers = request.headers_mut();
        headers.clone_from(&self.headers);
        if let Some(session) = self.session.get() {
            headers.insert(SESSION_ID, session.clone());
        }
        if let Some(revision) = self.revision.get().filter(|revision| **revision >= Revision::V2025_06_18) {
            headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(revision.name()));
        }
        request
    }

    async fn post(&self, message: Vec<u8>) -> Result<Response<Incoming>, Fault> {
        let request = self.head(Method::POST, message.into());
        self.client.send(request).await.map_err(|error| not_answered(&error))
    }

    async fn request(
        &self,
        mut waiting: Waiting<'_>,
        message: Vec<u8>,
        listener: Listener<'_>,
    ) -> Result<Reply, Fault> {
        let response = self.post(message).await?;
        if response.status() != StatusCode::OK {
            return status::fault(response, self.session.get().is_some(), waiting.id()).await;
        }
        self.note_session(&response);
        let is_stream = body::is_a(&response, EVENT_STREAM);
        let mut body = response.into_body();
        let fault = tokio::select! {
            // The answer first: the rest of the body is of no interest.
            biased;
            answer = waiting.answer(listener) => {
                self.finish(body);
                return answer;
            }
            fault = body::read(&mut body, is_stream, self) => fault,
        };
        waiting.answer_now(listener).unwrap_or(Err(fault))
    }

    /// Keeps the session that the answer to the handshake opened; no later one can.
    fn note_session(&self, response: &Response<Incoming>) {
        if let (None, Some(session)) = (self.revision.get(), response.headers().get(SESSION_ID)) {
            // Already set only if a server answers the handshake twice.
            let _ = self.session.set(session.clone());
        }
    }

    /// Reads the little that follows an answer, so that the connection can be used again.
    fn finish(&self, body: Incoming) {
        if !body.is_end_stream() {
            // Bounded by time and bytes.
            self.runtime.spawn(body::drain(body));
        }
    }

    /// Sends a message that has no answer.
    async fn tell(&self, message: Vec<u8>) -> Result<(), Fault> {
        let response = timeout(NOTIFY_TIMEOUT, self.post(message)).await;
        let response = response.map_err(|_| Fault::Gone("did not accept a message in time".to_owned()))??;
        if response.status().is_success() {
            body::drain(response.into_body()).await;
            return Ok(());
        }
        status::fault(response, self.session.get().is_some(), 0).await.map(drop)
    }

    /// Sends what the server asked us for. It waits for that, not we, so a failure is only logged.
    async fn tell_all(&self, answers: Vec<Vec<u8>>) {
        for answer in answers {
            if let Err(fault) = self.tell(answer).await {
                tracing::debug!(target: "upstream", upstream = %self.exchange.name(), %fault, "an answer of ours was lost");
            }
        }
    }
}

/// A request that failed before an answer began.
fn not_answered(error: &NetError) -> Fault {
    match error {
        NetError::Address
        | NetError::Refused { .. }
        | NetError::Dns { .. }
        | NetError::Tls { .. }
        | NetError::Timeout { .. } => Fault::NotSent(error.to_string()),
        NetError::Closed { .. } | NetError::Other { .. } => {
            Fault::Gone("closed the connection without an answer".to_owned())
        }
    }
}

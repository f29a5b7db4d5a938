//! `Peer`: the server as all tasks of a connection see it: where it is, which headers are due, which session.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri};
use hyper::body::Incoming;
use sandbox::Client;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use wire::Revision;
use wire::http::{EVENT_STREAM, JSON, LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID};

use super::super::exchange::Exchange;
use super::body;
use super::status::{self, Asked, Rules};
use crate::fault::Fault;
use crate::signer::Signer;

/// How long a server may take to accept a notification or an answer of ours.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(5);

/// Answers of ours that are on their way at once. While there are more, nothing is read.
const ANSWERS_MAX: usize = 16;

/// What the calling tasks and the listening one share.
pub(crate) struct Peer {
    pub(super) client: Client,
    /// Nothing for a server at which we never sign in.
    pub(super) signer: Option<Arc<Signer>>,
    /// True while the server serves us without a token: then none is looked for.
    pub(super) is_open: AtomicBool,
    url: Uri,
    /// The configured headers, and those that every request has.
    headers: HeaderMap,
    is_sse: bool,
    pub(super) session: OnceLock<HeaderValue>,
    pub(super) revision: OnceLock<Revision>,
    pub(crate) exchange: Arc<Exchange>,
    pub(crate) runtime: Handle,
    /// Those of our answers to the server that may be on their way at once.
    pub(super) answering: Arc<Semaphore>,
}

impl Peer {
    /// Must be called within a runtime.
    pub(crate) fn new(
        client: Client,
        signer: Option<Arc<Signer>>,
        url: Uri,
        headers: &HeaderMap,
        exchange: Arc<Exchange>,
    ) -> Peer {
        let mut headers = headers.clone();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        Peer {
            client,
            signer,
            is_open: AtomicBool::new(false),
            url,
            headers,
            is_sse: false,
            session: OnceLock::new(),
            revision: OnceLock::new(),
            exchange,
            runtime: Handle::current(),
            answering: Arc::new(Semaphore::new(ANSWERS_MAX)),
        }
    }

    /// The same server, which takes messages at `endpoint` and answers over its one stream.
    pub(crate) fn over_sse(self, endpoint: Uri) -> Peer {
        Peer { url: endpoint, is_sse: true, ..self }
    }

    /// True if answers come over the one stream of HTTP with server-sent events (revision 2024-11-05).
    pub(crate) fn is_sse(&self) -> bool {
        self.is_sse
    }

    /// True if there is a session that the server can forget.
    pub(crate) fn has_session(&self) -> bool {
        self.is_sse || self.session.get().is_some()
    }

    /// A request with all headers that are due in a session.
    fn head(&self, method: Method) -> Request<()> {
        let mut request = Request::new(());
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

    /// Closes the session.
    pub(super) async fn close_session(&self) -> Result<Response<Incoming>, Fault> {
        self.send_once(self.head(Method::DELETE)).await
    }

    /// Asks for a stream of events, behind the event `last_id` if there is one.
    pub(crate) async fn open_stream(
        &self,
        last_id: Option<&HeaderValue>,
    ) -> Result<Response<Incoming>, Fault> {
        let head = || {
            let mut request = self.head(Method::GET);
            let headers = request.headers_mut();
            headers.remove(CONTENT_TYPE);
            headers.insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM));
            if let Some(last_id) = last_id {
                headers.insert(LAST_EVENT_ID, last_id.clone());
            }
            request
        };
        self.send(head, Bytes::new()).await
    }

    /// Posts a message with `headers` beside those that are always due.
    pub(super) async fn post(
        &self,
        message: Vec<u8>,
        headers: HeaderMap,
    ) -> Result<Response<Incoming>, Fault> {
        let head = || {
            let mut request = self.head(Method::POST);
            request.headers_mut().extend(headers.iter().map(|(name, value)| (name.clone(), value.clone())));
            request
        };
        self.send(head, message.into()).await
    }

    /// Sends a message that is accepted and not answered here. Waits for that without limit.
    pub(crate) async fn hand_in(&self, message: Vec<u8>, headers: HeaderMap) -> Result<(), Fault> {
        let response = self.post(message, headers).await?;
        if response.status().is_success() {
            body::drain(response.into_body()).await;
            return Ok(());
        }
        let asked = Asked { id: 0, rules: Rules::Legacy, has_session: self.has_session() };
        status::answer(response, asked, &self.exchange.mask).await.map(drop)
    }

    /// Sends a message that has no answer.
    pub(crate) async fn tell(&self, message: Vec<u8>) -> Result<(), Fault> {
        let sent = timeout(NOTIFY_TIMEOUT, self.hand_in(message, HeaderMap::new())).await;
        sent.map_err(|_| Fault::Gone("did not accept a message in time".to_owned()))?
    }

    /// The same for what the server waits for, not we: a failure is only logged.
    pub(crate) async fn tell_all(&self, messages: Vec<Vec<u8>>) {
        for message in messages {
            if let Err(fault) = self.tell(message).await {
                tracing::debug!(target: "upstream", upstream = %self.exchange.upstream, %fault, "a message of ours was lost");
            }
        }
    }

    /// The same from a task of its own.
    pub(crate) fn tell_later(self: &Arc<Peer>, message: Vec<u8>) {
        let peer = self.clone();
        // Bounded by its timeout; few for each call.
        self.runtime.spawn(async move { peer.tell_all(vec![message]).await });
    }
}

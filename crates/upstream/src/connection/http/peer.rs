//! `Peer`: the server as all tasks of a connection see it: where it is, which headers are due, which session.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use hyper::body::{Body, Incoming};
use tokio::runtime::Handle;
use tokio::time::timeout;
use wire::Revision;
use wire::http::{EVENT_STREAM, JSON, LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID};

use super::super::{Exchange, Fault, Outgoing, Via};
use super::place::Place;
use super::signed::Signed;
use super::status::{self, Asked};
use super::stream::{Stream, read_events};
use super::{body, resume};

/// How long a server may take to accept a notification or an answer of ours.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest name of a session, in bytes: it goes out with every request.
const SESSION_BYTES_MAX: usize = 4 * 1024;

/// Where a legacy session is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::connection) enum Session {
    /// In a header that the answer to the handshake gives us, if it does.
    InHeader,
    /// In the address itself.
    InAddress,
}

/// By which rules a request is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rules {
    Legacy,
    Modern,
    /// Modern, to find out whether the server is.
    Probe,
}

impl Rules {
    pub(super) fn of(outgoing: &Outgoing<'_>) -> Rules {
        match (outgoing.modern, outgoing.method) {
            (false, _) => Rules::Legacy,
            (true, "server/discover") => Rules::Probe,
            (true, _) => Rules::Modern,
        }
    }
}

/// What the calling tasks and the listening one share.
pub(in crate::connection) struct Peer {
    signed: Signed,
    url: Uri,
    /// The configured headers, and those that every request has.
    headers: HeaderMap,
    place: Session,
    session: OnceLock<HeaderValue>,
    revision: OnceLock<Revision>,
    exchange: Arc<Exchange>,
    runtime: Handle,
}

impl Peer {
    /// Must be called within a runtime.
    pub(in crate::connection) fn new(
        signed: Signed,
        url: Uri,
        headers: &HeaderMap,
        exchange: Arc<Exchange>,
        place: Session,
    ) -> Peer {
        let mut headers = headers.clone();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        let (session, revision) = (OnceLock::new(), OnceLock::new());
        Peer { signed, url, headers, place, session, revision, exchange, runtime: Handle::current() }
    }

    pub(in crate::connection) fn exchange(&self) -> &Arc<Exchange> {
        &self.exchange
    }

    pub(in crate::connection) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// The legacy handshake has settled on `revision`.
    pub(in crate::connection) fn agree(&self, revision: Revision) {
        // Set once: there is one handshake on a connection.
        let _ = self.revision.set(revision);
    }

    /// True if there is a session that the server can forget.
    pub(in crate::connection) fn has_session(&self) -> bool {
        self.place == Session::InAddress || self.session.get().is_some()
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
        self.signed.send_once(self.head(Method::DELETE)).await
    }

    /// Asks for a stream of events, behind the event `last_id` if there is one.
    pub(in crate::connection) async fn open_stream(
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
        self.signed.send(head, Bytes::new()).await
    }

    /// Posts a message with `headers` beside those that are always due.
    async fn post(&self, message: Vec<u8>, headers: HeaderMap) -> Result<Response<Incoming>, Fault> {
        let head = || {
            let mut request = self.head(Method::POST);
            request.headers_mut().extend(headers.iter().map(|(name, value)| (name.clone(), value.clone())));
            request
        };
        self.signed.send(head, message.into()).await
    }

    /// Sends request `id` and hands what comes back to the exchange. Returns when the answer is there, or with
    /// the reason why there is none.
    pub(super) async fn request(
        &self,
        id: u64,
        message: Vec<u8>,
        headers: HeaderMap,
        rules: Rules,
    ) -> Result<(), Fault> {
        let response = self.post(message, headers).await?;
        if response.status() != StatusCode::OK {
            let asked = Asked { id, rules, has_session: self.has_session() };
            let reply = status::answer(response, asked, self.exchange.mask()).await?;
            self.exchange.answer(id, Ok(reply));
            return Ok(());
        }
        if rules == Rules::Legacy {
            self.note_session(&response)?;
        }
        let is_stream = body::is_a(&response, EVENT_STREAM);
        let is_page = body::is_a(&response, "text/html");
        let mut stream = Stream::new(response.into_body());
        let via = Via::Request(id);
        let read = match (is_stream, rules) {
            (false, _) => match body::read_one(stream.body(), self, via).await {
                Err(Fault::Broken(_)) if is_page => Err(a_page()),
                read => read,
            },
            (true, Rules::Legacy) => resume::read_on(&mut stream, self, via).await,
            // A modern stream that breaks is lost with its request.
            (true, Rules::Modern | Rules::Probe) => {
                read_events(&mut stream, self, via, &mut Place::default()).await
            }
        };
        // The answer may have come another way, or be what was wrong with the body.
        if self.exchange.is_open(id) {
            return read;
        }
        self.finish(stream.into_body());
        Ok(())
    }

    /// Keeps the session that the answer to the handshake opened; no later one can.
    fn note_session(&self, response: &Response<Incoming>) -> Result<(), Fault> {
        let (None, Some(session)) = (self.revision.get(), response.headers().get(SESSION_ID)) else {
            return Ok(());
        };
        if session.len() > SESSION_BYTES_MAX {
            return Err(Fault::Broken(format!(
                "the name of its session is longer than {SESSION_BYTES_MAX} bytes"
            )));
        }
        // Already set only if a server answers the handshake twice.
        let _ = self.session.set(session.clone());
        Ok(())
    }

    /// Reads the little that follows an answer, so that the connection can be used again.
    fn finish(&self, body: Incoming) {
        if !body.is_end_stream() {
            // Bounded by time and bytes.
            self.runtime.spawn(body::drain(body));
        }
    }

    /// Sends a message that is accepted and not answered here. Waits for that without limit.
    pub(in crate::connection) async fn hand_in(
        &self,
        message: Vec<u8>,
        headers: HeaderMap,
    ) -> Result<(), Fault> {
        let response = self.post(message, headers).await?;
        if response.status().is_success() {
            body::drain(response.into_body()).await;
            return Ok(());
        }
        let asked = Asked { id: 0, rules: Rules::Legacy, has_session: self.has_session() };
        status::answer(response, asked, self.exchange.mask()).await.map(drop)
    }

    /// Sends a message that has no answer.
    pub(in crate::connection) async fn tell(&self, message: Vec<u8>) -> Result<(), Fault> {
        let told = timeout(NOTIFY_TIMEOUT, self.hand_in(message, HeaderMap::new())).await;
        told.map_err(|_| Fault::Gone("did not accept a message in time".to_owned()))?
    }

    /// The same for what the server waits for, not we: a failure is only logged.
    pub(in crate::connection) async fn tell_all(&self, messages: Vec<Vec<u8>>) {
        for message in messages {
            if let Err(fault) = self.tell(message).await {
                tracing::debug!(target: "upstream", upstream = %self.exchange.name(), %fault, "a message of ours was lost");
            }
        }
    }

    /// The same from a task of its own.
    pub(in crate::connection) fn tell_later(self: &Arc<Peer>, message: Vec<u8>) {
        let peer = self.clone();
        // Bounded by its timeout; few for each call.
        self.runtime.spawn(async move { peer.tell_all(vec![message]).await });
    }
}

/// What is said of an answer for people.
fn a_page() -> Fault {
    Fault::Broken(
        "it answered with a web page (text/html); check that `url` is the address of its MCP endpoint"
            .to_owned(),
    )
}

//! `Connection`: one open way to a server, whatever the transport and the era. Any number of calls use it at
//! once.
//!
//! Opening it again is left to `start`, and what the answers mean to `answer`.

#[cfg(test)]
mod allocations;
mod asked;
mod call;
mod envelope;
mod era;
mod exchange;
mod face;
mod fault;
mod heard;
mod http;
mod listen;
mod news;
mod outbox;
mod parked;
mod pending;
mod rounds;
mod socket;
mod sse;
mod stderr;
mod stdio;
mod subscribed;
mod transport;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Mutex;
use tokio::time::timeout;
use tool_api::{Context, Hold};
use wire::message::Text;
use wire::{LogLevel, Revision};

use crate::clean;

pub(crate) use asked::{Kind as Wanted, Question};
pub(crate) use era::Era;
pub(crate) use exchange::{Exchange, Parting};
pub(crate) use face::Face;
pub(crate) use fault::Fault;
pub(crate) use heard::Heard;
pub(crate) use http::Verdict;
pub(crate) use pending::{Caller, Reply};
pub(crate) use stderr::Stderr;
pub(crate) use subscribed::Subscribed;
pub(crate) use transport::Transport;
use transport::{Outgoing, Via, Work};

use call::Call;
use envelope::Envelope;
use listen::Listening;
use parked::Parked;

/// How long a server may take to take note of the level of log messages.
const LEVEL_TIMEOUT: Duration = Duration::from_secs(2);

/// How much of a server's refusal is repeated, in bytes.
const REFUSAL_BYTES_MAX: usize = 500;

/// The state of a call whose server remembers nothing of it: the client's next round is a call like the first.
pub(crate) const AGAIN: &str = "again";

/// What is asked of a server.
pub(crate) struct Request<'a> {
    /// Which method.
    pub method: &'a str,
    /// The parameters as the text of a JSON object without `_meta`; empty for none.
    pub params: Vec<u8>,
    /// The call it is made for; nothing for a request of our own.
    pub cx: Option<&'a Context>,
    /// What it is about, for `Mcp-Name`: not encoded.
    pub name: Option<&'a str>,
    /// Headers that repeat arguments: full names and encoded values, from `wire::param_headers`.
    pub param_headers: Vec<(String, String)>,
}

/// What a server answers.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The result. That of a modern server says in `resultType` what it is: complete, a question, or a task.
    Result(Text),
    /// A JSON-RPC error object.
    Error(Text),
    /// A legacy server wants something of the client first.
    Asked {
        /// An `inputRequests` object.
        requests: Bytes,
        /// What to give back with the answers: to `resume`, or, if it is [`AGAIN`], to nobody: the request is
        /// then made again as it was.
        state: Arc<str>,
        /// Gives the call up when nobody will come back with the answers; nothing if none is kept.
        hold: Option<Hold>,
    },
}

/// An open way to a server that has been met. Dropping it closes it; `end` closes it and waits.
pub(crate) struct Connection {
    transport: Arc<Transport>,
    exchange: Arc<Exchange>,
    face: Face,
    envelope: Envelope,
    parked: Arc<Parked>,
    /// The most verbose level that a legacy server has been told.
    level: Mutex<Option<LogLevel>>,
    subscribed: Arc<Subscribed>,
    listening: Listening,
}

impl Connection {
    /// A connection to a server that has been met.
    pub(crate) fn new(
        transport: Arc<Transport>,
        exchange: Arc<Exchange>,
        face: Face,
        ourselves: String,
        subscribed: Arc<Subscribed>,
    ) -> Connection {
        let (parked, level, listening) = (Arc::default(), Mutex::default(), Listening::default());
        exchange.keep_parked(&parked);
        let envelope = Envelope::new(face.revision, ourselves);
        Connection { transport, exchange, face, envelope, parked, level, subscribed, listening }
    }

    /// The messages under way.
    pub(crate) fn exchange(&self) -> &Arc<Exchange> {
        &self.exchange
    }

    /// What the server says of itself.
    pub(crate) fn face(&self) -> &Face {
        &self.face
    }

    /// The revision spoken with it.
    pub(crate) fn revision(&self) -> Revision {
        self.face.revision
    }

    /// True if every request says what it needs.
    pub(crate) fn is_modern(&self) -> bool {
        self.face.revision.is_modern()
    }

    /// Tells a legacy server that this call wants more log messages than any before.
    async fn tell_level(&self, cx: &Context) {
        let Some(wanted) = log_level(cx).filter(|_| !self.is_modern() && self.face.has("logging")) else {
            return;
        };
        // Held until the server has heard it: whoever wants no more begins then.
        let mut level = self.level.lock().await;
        if level.is_some_and(|told| told <= wanted) {
            return;
        }
        let params = format!("{{\"level\":\"{}\"}}", wanted.name());
        let told = async { self.own("logging/setLevel", params.as_bytes())?.answer().await };
        // A server that does not listen sends what it likes; what is not wanted is not passed on.
        if !matches!(timeout(LEVEL_TIMEOUT, told).await, Ok(Ok(Ok(_)))) {
            tracing::debug!(target: "upstream", upstream = %self.exchange.name(), "it did not take note of the log level");
        }
        *level = Some(wanted);
    }

    /// True if a call waits here for its client under this state.
    pub(crate) fn has_parked(&self, state: &str) -> bool {
        self.parked.has(state)
    }

    /// True if any call waits here for its client.
    pub(crate) fn parks_any(&self) -> bool {
        !self.parked.is_empty()
    }

    /// True if the server keeps something here that must not be lost, though no call is under way: a call that waits
    /// for its client, or a task.
    pub(crate) fn is_kept(&self) -> bool {
        self.parks_any() || self.listening.follows_any()
    }

    /// True if it is HTTP with server-sent events, as before 2025-03-26.
    pub(crate) fn is_sse(&self) -> bool {
        match &*self.transport {
            Transport::Sse(_) => true,
            Transport::Stdio(_) | Transport::Http(_) => false,
        }
    }

    /// Sends a request of our own; `params` is the text of an object without `_meta`.
    fn own(&self, method: &'static str, params: &[u8]) -> Result<Call, Fault> {
        let params = self.envelope.put(params.to_vec(), None, 0);
        Call::ask(&self.transport, &self.exchange, method, &params, self.is_modern())
    }

    /// Closes the connection and waits until nothing is left of it, for a bounded time.
    pub(crate) async fn end(&self) {
        self.transport.end().await;
    }
}

/// Sends a request of our own to a server that has not been met yet, and waits for its answer.
pub(crate) async fn ask(
    transport: &Arc<Transport>,
    exchange: &Arc<Exchange>,
    method: &'static str,
    params: &[u8],
    modern: bool,
) -> Result<Reply, Fault> {
    Call::ask(transport, exchange, method, params, modern)?.answer().await
}

/// What a server says when it refuses.
fn refusal(error: &Text) -> String {
    let object = error.object();
    let said = object.and_then(|object| object.string("message")).unwrap_or_default();
    let code = object.and_then(|object| object.get("code")).unwrap_or("no code");
    format!("it refused: {} (code {code})", clean::sentence(&said, REFUSAL_BYTES_MAX))
}

fn caller(method: &str, cx: &Context) -> Caller {
    let client = cx.client();
    Caller {
        conversation: client.conversation,
        capabilities: client.capabilities.clone(),
        log_level: log_level(cx),
        may_be_asked: matches!(method, "tools/call" | "prompts/get" | "resources/read" | "tasks/result"),
    }
}

fn log_level(cx: &Context) -> Option<LogLevel> {
    cx.client().log_level.and_then(LogLevel::parse)
}

#[cfg(test)]
impl Connection {
    /// A connection over which nothing is sent.
    pub(crate) fn unsent(revision: Revision) -> Arc<Connection> {
        let exchange = Arc::new(Exchange::new("it".into()));
        let url = ::http::Uri::from_static("http://127.0.0.1:1/mcp");
        let signed = http::Signed::new(sandbox::Client::new(), None, None);
        let http = http::Http::new(signed, &url, &::http::HeaderMap::new(), exchange.clone());
        let (server, ourselves) = (wire::initialize::Peer::default(), "{}".to_owned());
        let face = Face { revision, capabilities: None, server, instructions: None };
        let transport = Arc::new(Transport::Http(http));
        Arc::new(Connection::new(transport, exchange, face, ourselves, Arc::default()))
    }
}

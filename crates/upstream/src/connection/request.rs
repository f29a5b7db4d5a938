//! What is asked of a server, the request that is sent for it, and what it answers.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderName, HeaderValue};
use tool_api::{Context, Hold};
use wire::http::{METHOD, NAME, PROTOCOL_VERSION};
use wire::message::Text;
use wire::{Revision, headers, write};

use crate::fault::Fault;

/// The state of a call whose server remembers nothing of it: the client's next round is a call like the first.
pub(crate) const AGAIN: &str = "again";

/// What is asked of a server.
#[derive(Default)]
pub(crate) struct Request<'a> {
    /// Which method.
    pub method: &'a str,
    /// The parameters as the text of a JSON object; empty for none. `_meta` is put in before it is sent.
    pub params: Vec<u8>,
    /// The call it is made for; nothing for a request of our own.
    pub cx: Option<&'a Context>,
    /// What its client is said to be able to do, if that is not what the client says itself: a `ClientCapabilities`
    /// object as JSON text.
    pub capabilities: Option<Arc<str>>,
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

/// What names the call that this round goes on with, if its server is a legacy one.
pub(crate) fn resumed(cx: &Context) -> Option<&str> {
    cx.input.as_ref()?.state.as_deref().filter(|state| *state != AGAIN)
}

/// Has to be polled until the answer to its request is with the exchange. Fails if there will be none.
pub(crate) type Work = BoxFuture<'static, Result<(), Fault>>;

impl Request<'_> {
    /// The whole message under this number, without a line end.
    pub(crate) fn message(&self, id: u64) -> Vec<u8> {
        let mut message = Vec::with_capacity(self.params.len() + 80);
        let params = Some(&*self.params).filter(|params| !params.is_empty());
        write::numbered_request(&mut message, id, self.method, params);
        message
    }

    /// The standard headers of a modern request. A handshake has one of them: a server of both eras may want it of every
    /// POST. Other legacy requests have none.
    pub(super) fn headers(&self, modern: bool) -> HeaderMap {
        let mut map = HeaderMap::new();
        // A method of an extension may be one that no header can hold; the server then refuses what lacks it.
        if let Ok(method) = HeaderValue::from_str(self.method)
            && (modern || self.method == "initialize")
        {
            map.insert(METHOD, method);
        }
        if !modern {
            return map;
        }
        map.insert(PROTOCOL_VERSION, HeaderValue::from_static(Revision::MODERN.name()));
        if let Some(name) = self.name {
            let value = HeaderValue::from_str(&headers::encode(name));
            map.insert(NAME, value.expect("an encoded value is printable ASCII"));
        }
        for (name, value) in &self.param_headers {
            // What is no header was not made by the rules for them; the server says that it is missing.
            if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
                map.insert(name, value);
            }
        }
        map
    }
}

//! What is asked of a server, and what it answers.

use std::sync::Arc;

use bytes::Bytes;
use tool_api::{Context, Hold};
use wire::message::Text;

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

//! A call as a transport hands it in.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use tool_api::{Cancel, Client, Definition, Input, Listener};

use crate::approvals::{Asker, Forms};
use crate::dry_run::Earnest;
use crate::target::Target;

/// Compares what a transport has read beside a call with the tool's definition and the arguments. An error says how they
/// differ, and repeats no value.
pub type HeaderCheck = Arc<dyn Fn(&Definition, &Bytes) -> Result<(), String> + Send + Sync>;

/// A call as a transport hands it in.
pub struct Call<'a> {
    /// What it is for.
    pub target: Target<'a>,
    /// The arguments object as JSON text. For anything but a tool: the parameters of the request without
    /// those that belong to the protocol.
    pub arguments: Option<Bytes>,
    /// The request's `_meta` as JSON text; only a tool elsewhere gets to see it.
    pub meta: Option<Bytes>,
    /// Asked once the tool is found: before that, nobody knows what headers must repeat.
    pub header_check: Option<HeaderCheck>,
    /// Set by the transport when the caller gives up.
    pub cancel: Cancel,
    /// Who hears of progress and log messages, if the caller asked for them.
    pub listener: Option<Arc<dyn Listener>>,
    /// The client at the far end.
    pub client: Client,
    /// What the client sends in a further round, its state as [`Gate::call`](crate::Gate::call) gave it out.
    pub input: Option<Input>,
    /// The processes that it comes from, as far as the transport knows.
    pub askers: Arc<[Asker]>,
    /// By which the call is known if it is sent again, at most [`crate::REQUEST_ID_BYTES_MAX`] long; a further round of a
    /// call needs none.
    pub request_id: Option<Arc<str>>,
    /// What the caller says of itself and of what the call is about, as JSON text. It is noted, and nobody believes it.
    pub claims: Option<Arc<str>>,
    /// Whether it changes something, or only says what it would change.
    pub earnest: Earnest,
    /// Asks the client's user while the call runs, if the client can be asked then.
    pub forms: Option<&'a dyn Forms>,
    /// The job that it runs for, or may become.
    pub job: Option<OfJob>,
}

/// The job of a call.
#[derive(Debug, Clone)]
pub struct OfJob {
    /// Its id; nothing as long as it is none.
    pub(crate) id: Arc<OnceLock<Arc<str>>>,
    /// Whether it was judged and counted when the job was taken.
    pub(crate) was_judged: bool,
    /// Whether whoever had to be asked has been, just before: by the call that began it.
    pub(crate) is_approved: bool,
}

impl<'a> Call<'a> {
    /// A plain call of a tool by somebody who only waits for its result.
    pub fn tool(name: &'a str, arguments: Option<Bytes>) -> Call<'a> {
        Call {
            target: Target::Tool(name),
            arguments,
            meta: None,
            header_check: None,
            cancel: Cancel::new(),
            listener: None,
            client: Client::default(),
            input: None,
            askers: Arc::default(),
            request_id: None,
            claims: None,
            earnest: Earnest::Real,
            forms: None,
            job: None,
        }
    }
}

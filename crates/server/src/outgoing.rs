//! What goes out to a client: the answer to one request, and the frames before it.

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use wire::{Code, Id, WireError, write};

/// The answer to one request.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The message that goes out.
    pub(crate) frame: Vec<u8>,
    /// Which error it is, for the status over HTTP; nothing for a result.
    pub(crate) code: Option<Code>,
}

/// An answer that needs waiting; nothing comes of it for a request that was cancelled. Whoever drops it gives the
/// request up.
pub(crate) type Later = BoxFuture<'static, Option<Reply>>;

/// What comes of a message.
pub(crate) enum Now {
    /// Nothing to say.
    Nothing,
    /// The answer was appended; the code is that of an error.
    Written(Option<Code>),
    /// The answer is still to come.
    Later(Later),
}

/// Where frames about one request go before its answer: progress, log messages, requests of ours to the client, and
/// the messages of a subscription. What a slow reader may miss is dropped on the way in, so whoever takes frames
/// out delivers every one of them.
pub(crate) type Outbox = mpsc::Sender<Vec<u8>>;

/// Gives the outbox once a request needs it; nothing if the client can be told nothing before its answer. Most
/// requests do not ask, and a channel costs more than parsing them.
pub(crate) type OpenOutbox<'a> = &'a mut dyn FnMut() -> Option<Outbox>;

impl Reply {
    /// A result, as JSON text.
    pub(crate) fn result(id: &Id, result: &[u8]) -> Reply {
        let mut frame = Vec::new();
        write::result(&mut frame, id, result);
        Reply { frame, code: None }
    }

    /// An error.
    pub(crate) fn error(id: &Id, error: &WireError) -> Reply {
        let mut frame = Vec::new();
        write::error(&mut frame, Some(id), error);
        Reply { frame, code: Some(error.code) }
    }
}

/// An `InvalidRequest`.
pub(crate) fn invalid_request(why: impl std::fmt::Display) -> WireError {
    WireError::new(Code::InvalidRequest, format!("Invalid request: {why}"))
}

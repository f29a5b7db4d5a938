//! A request on its way to its handler, and the answers that need no waiting.

use std::borrow::Cow;
use std::sync::Arc;

use gate::Client;
use tracing::debug;
use wire::message::Text;
use wire::meta::Envelope;
use wire::{Code, Id, Revision, WireError, write};

use crate::Server;
use crate::outgoing::{Now, OpenOutbox};
use crate::session::{BeginFault, InFlight, Session};

/// Longest name of a method that an error repeats, in characters.
const METHOD_CHARS_MAX: usize = 100;

/// A request on its way to its handler.
pub(super) struct Request<'a> {
    pub(super) server: &'a Arc<Server>,
    pub(super) session: &'a Arc<Session>,
    pub(super) id: Id,
    pub(super) params: Option<Text>,
    /// What a modern client says with each request; nothing for a legacy one.
    pub(super) envelope: Option<Envelope>,
    pub(super) outbox: OpenOutbox<'a>,
    pub(super) out: &'a mut Vec<u8>,
}

impl Request<'_> {
    /// The revision that the answer is written in.
    pub(super) fn revision(&self) -> Revision {
        if self.envelope.is_some() { Revision::MODERN } else { self.session.revision() }
    }

    /// The client, and whether there is anything that it can be asked for in the middle of a call.
    pub(super) fn client(&self) -> (Client, bool) {
        let Some(envelope) = &self.envelope else { return self.session.client() };
        let client = Client {
            capabilities: envelope.capabilities.bytes(),
            info: envelope.client.as_ref().map(Text::bytes),
            log_level: envelope.log_level.map(wire::LogLevel::name),
            conversation: self.session.conversation_of_request(),
            ..Client::default()
        };
        (client, false)
    }

    /// Notes that the request has not been answered, so that it can be cancelled.
    pub(super) fn begin(&self) -> Result<InFlight, WireError> {
        self.session.begin(&self.id).map_err(|fault| {
            let why = match fault {
                BeginFault::Duplicate => "a request with this id has not been answered yet",
                BeginFault::TooMany => "too many requests wait for their answers; let some finish",
            };
            WireError::new(Code::InvalidRequest, format!("Invalid request: {why}"))
        })
    }

    /// Answers with a result (JSON text) that is the same in all revisions.
    pub(super) fn answer(self, result: &[u8]) -> Now {
        self.answer_by(|out| out.extend_from_slice(result))
    }

    /// Answers with a result that `write` appends.
    pub(super) fn answer_by(self, write: impl FnOnce(&mut Vec<u8>)) -> Now {
        // A call looks for itself when it begins.
        if self.session.is_running(&self.id) {
            let error = "Invalid request: a request with this id has not been answered yet";
            return self.refuse(&WireError::new(Code::InvalidRequest, error));
        }
        write::result_by(self.out, &self.id, write);
        debug!(target: "mcp", id = %self.id, "sending response");
        Now::Written(None)
    }

    /// Answers that there is no such method.
    pub(super) fn refuse_method(self, method: &str) -> Now {
        // Struck before it is cut: of a secret at the end the beginning would be left.
        let shown: String = self.server.gate.redactor().text(method).chars().take(METHOD_CHARS_MAX).collect();
        self.refuse(&WireError::new(Code::MethodNotFound, format!("Method not found: {shown}")))
    }

    /// Answers with an error.
    pub(super) fn refuse(self, error: &WireError) -> Now {
        write::error(self.out, Some(&self.id), &without_secrets(self.server, error));
        debug!(target: "mcp", id = %self.id, code = error.code.number(), "sending error");
        Now::Written(Some(error.code))
    }
}

/// An error as it may leave: it may repeat the caller's own words.
pub(crate) fn without_secrets<'e>(server: &Server, error: &'e WireError) -> Cow<'e, WireError> {
    let redactor = server.gate.redactor();
    let message = redactor.strike(&error.message);
    let data = error.data.as_deref().and_then(|data| redactor.json(data.as_bytes()));
    if message.is_none() && data.is_none() {
        return Cow::Borrowed(error);
    }
    let message = message.map_or_else(|| error.message.clone(), |(message, _)| message);
    let data = match data {
        Some(struck) => Some(String::from_utf8_lossy(&struck.bytes).into_owned()),
        None => error.data.clone(),
    };
    Cow::Owned(WireError { code: error.code, message, data })
}

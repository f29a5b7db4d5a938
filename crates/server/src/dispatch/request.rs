//! A request on its way to its handler, and the answers that need no waiting.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use gate::{Client, Offer};
use tracing::debug;
use wire::message::Text;
use wire::meta::Envelope;
use wire::{Code, Id, Object, Revision, WireError, write};

use crate::Server;
use crate::outgoing::{Now, OpenOutbox, Reply, invalid_request};
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

    /// Its parameters, if they are an object.
    pub(super) fn object(&self) -> Option<Object<'_>> {
        self.params.as_ref().and_then(Text::object)
    }

    /// What a modern client says that it can do, as JSON text.
    pub(super) fn capabilities(&self) -> &str {
        self.envelope.as_ref().map_or("{}", |envelope| envelope.capabilities.as_str())
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
        self.session.begin(&self.id).map_err(invalid_request)
    }

    /// Answers with a result (JSON text) that is the same in all revisions, and lists so many `tools` if it lists them.
    pub(super) fn answer(&mut self, result: &[u8], tools: Option<usize>) -> Result<Now, WireError> {
        // A call looks for itself when it begins.
        if self.session.is_running(&self.id) {
            return Err(invalid_request(BeginFault::Duplicate));
        }
        write::result(self.out, &self.id, result);
        debug!(target: "mcp", id = %self.id, tools, "sending response");
        Ok(Now::Written(None))
    }

    /// Answers with what `write` makes of an offer that is still to come.
    pub(super) fn answer_by(
        &self,
        offer: BoxFuture<'static, Arc<Offer>>,
        write: impl FnOnce(&Offer) -> Result<Bytes, WireError> + Send + 'static,
        lists_tools: bool,
    ) -> Result<Now, WireError> {
        let (in_flight, id) = (self.begin()?, self.id.clone());
        Ok(Now::Later(Box::pin(async move {
            let offer = tokio::select! {
                biased;
                () = in_flight.cancel.cancelled() => return None,
                offer = offer => offer,
            };
            let written = write(&offer);
            let tools = lists_tools.then_some(offer.tools.len());
            debug!(target: "mcp", %id, tools, "sending response");
            Some(match written {
                Ok(result) => Reply::result(&id, &result),
                Err(error) => Reply::error(&id, &error),
            })
        })))
    }

    /// There is no such method.
    pub(super) fn unknown_method(&self, method: &str) -> WireError {
        // Struck before it is cut: of a secret at the end the beginning would be left.
        let shown: String = self.server.gate.redactor().text(method).chars().take(METHOD_CHARS_MAX).collect();
        WireError::new(Code::MethodNotFound, format!("Method not found: {shown}"))
    }

    /// Answers with an error.
    pub(super) fn refuse(&mut self, error: &WireError) -> Now {
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

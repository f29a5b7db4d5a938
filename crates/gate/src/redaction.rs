//! Secrets are struck out of all that a call gives back: outcomes, failures, progress, log messages.
//!
//! What a tool wants back with the next round stays as it is: it is sealed, and only the tool opens it.

use std::sync::Arc;

use bytes::Bytes;
use redact::{Redactor, Stream, Struck};
use tool_api::{
    Block, Listener, Outcome, Payload, Progress, Protocol, Secrets, Striking as Strikes, ToolError,
};

use crate::failure::{Failure, Refusal};

/// What came of a call without secrets, and how many places were struck out.
pub(crate) fn strike(
    redactor: &Redactor,
    result: Result<Outcome, Failure>,
) -> (Result<Outcome, Failure>, u32) {
    let mut striking = Striking { redactor, count: 0 };
    let result = match result {
        Ok(mut outcome) => {
            outcome.payload = striking.payload(outcome.payload);
            if let Some(planned) = &mut outcome.planned {
                planned.changes.iter_mut().for_each(|(path, _)| striking.text(path));
                striking.text(&mut planned.diff);
            }
            Ok(outcome)
        }
        Err(Failure::Tool(error)) => Err(Failure::Tool(striking.error(error))),
        Err(Failure::Refused(refusal)) => Err(Failure::Refused(striking.refusal(refusal))),
        // It says nothing but the number of the call.
        Err(Failure::Internal(internal)) => Err(Failure::Internal(internal)),
    };
    (result, striking.count)
}

/// Tells the listener everything without secrets.
pub(crate) fn listener(redactor: &Redactor, next: Arc<dyn Listener>) -> Arc<dyn Listener> {
    Arc::new(Clean { redactor: redactor.clone(), next })
}

/// Tells a tool what its caller is not shown.
pub(crate) fn secrets(redactor: &Redactor) -> Arc<dyn Secrets> {
    Arc::new(Kept(redactor.clone()))
}

struct Kept(Redactor);

impl Secrets for Kept {
    fn placeholder_lines(&self, text: &[u8]) -> Vec<usize> {
        redact::placeholder_lines(text)
    }

    fn are_in(&self, text: &[u8]) -> bool {
        self.0.bytes(text).is_some() || self.0.strike(&String::from_utf8_lossy(text)).is_some()
    }

    fn striking(&self) -> Box<dyn Strikes> {
        Box::new(InPieces(Stream::new(self.0.clone(), true)))
    }
}

struct InPieces(Stream);

impl Strikes for InPieces {
    fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.0.push(piece)
    }

    fn finish(&mut self) -> Vec<u8> {
        self.0.finish()
    }
}

struct Striking<'r> {
    redactor: &'r Redactor,
    count: u32,
}

impl Striking<'_> {
    fn payload(&mut self, payload: Payload) -> Payload {
        match payload {
            Payload::Ours { mut blocks, structured } => {
                blocks.iter_mut().for_each(|block| self.block(block));
                Payload::Ours { blocks, structured: structured.map(|text| self.json(text)) }
            }
            Payload::Relayed { result, structured } => {
                let before = self.count;
                let result = self.json(result);
                // The structured content is a part of the result.
                let counted = self.count;
                let structured = match counted > before {
                    true => structured.map(|text| self.json(text)),
                    false => structured,
                };
                self.count = counted;
                Payload::Relayed { result, structured }
            }
            Payload::InputRequired { requests, state, hold } => {
                Payload::InputRequired { requests: requests.map(|text| self.json(text)), state, hold }
            }
            Payload::Task { result, id } => Payload::Task { result: self.json(result), id },
        }
    }

    fn block(&mut self, block: &mut Block) {
        match block {
            Block::Text(text) => self.text(text),
            Block::Image { bytes, .. } | Block::Audio { bytes, .. } => self.bytes(bytes),
            Block::Blob { uri, bytes, .. } => {
                self.text(uri);
                self.bytes(bytes);
            }
        }
    }

    fn error(&mut self, error: ToolError) -> ToolError {
        let before = self.count;
        let mut message = error.to_string();
        self.text(&mut message);
        let details = error.details().map(|facts| self.value(facts));
        let protocol = error.protocol().map(|protocol| {
            let mut protocol = protocol.clone();
            self.text(&mut protocol.message);
            protocol.data = protocol.data.map(|data| self.json_text(data));
            protocol
        });
        if self.count == before {
            return error;
        }
        // The private cause may say the same, and is let go.
        let clean = ToolError::new(error.code().clone(), message);
        let clean = match details {
            Some(details) => clean.with_details(details),
            None => clean,
        };
        match protocol {
            Some(protocol) => clean.with_protocol(Protocol { ..protocol }),
            None => clean,
        }
    }

    /// A refusal quotes what the caller sent; all other words of it are ours or those of a rule.
    fn refusal(&mut self, refusal: Refusal) -> Refusal {
        match refusal {
            Refusal::UnknownTool(name) => Refusal::UnknownTool(self.owned(name)),
            Refusal::UnknownResource(uri) => Refusal::UnknownResource(self.owned(uri)),
            Refusal::UnknownPrompt(name) => Refusal::UnknownPrompt(self.owned(name)),
            Refusal::UnknownMethod(method) => Refusal::UnknownMethod(self.owned(method)),
            Refusal::SeveralOwners { method, upstreams } => {
                Refusal::SeveralOwners { method: self.owned(method), upstreams }
            }
            Refusal::HeaderMismatch(why) => Refusal::HeaderMismatch(self.owned(why)),
            Refusal::InvalidArguments { tool, mut violations } => {
                for violation in &mut violations {
                    self.text(&mut violation.pointer);
                    self.text(&mut violation.expected);
                    self.text(&mut violation.found);
                }
                Refusal::InvalidArguments { tool, violations }
            }
            Refusal::UnusableSchema { tool, why } => Refusal::UnusableSchema { tool, why: self.owned(why) },
            other => other,
        }
    }

    fn owned(&mut self, mut text: String) -> String {
        self.text(&mut text);
        text
    }

    fn text(&mut self, text: &mut String) {
        if let Some((struck, count)) = self.redactor.strike(text) {
            self.count = self.count.saturating_add(count);
            *text = struck;
        }
    }

    fn bytes(&mut self, bytes: &mut Vec<u8>) {
        if let Some((struck, count)) = self.redactor.bytes(bytes) {
            self.count = self.count.saturating_add(count);
            *bytes = struck;
        }
    }

    fn json(&mut self, text: Bytes) -> Bytes {
        match self.redactor.json(&text) {
            None => text,
            Some(Struck { bytes, count }) => {
                self.count = self.count.saturating_add(count);
                bytes
            }
        }
    }

    fn json_text(&mut self, text: String) -> String {
        let bytes = self.json(text.into_bytes().into());
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn value(&mut self, value: &serde_json::Value) -> serde_json::Value {
        let text = Bytes::from(value.to_string());
        let clean = self.json(text.clone());
        match clean == text {
            true => value.clone(),
            false => serde_json::from_slice(&clean).unwrap_or_default(),
        }
    }
}

/// Passes on what a call tells, without secrets.
struct Clean {
    redactor: Redactor,
    next: Arc<dyn Listener>,
}

impl Clean {
    fn json(&self, text: Bytes) -> Bytes {
        self.redactor.json(&text).map_or(text, |struck| struck.bytes)
    }
}

impl Listener for Clean {
    fn progress(&self, progress: Progress) {
        self.next.progress(match progress {
            Progress::Step { done, total, message } => {
                let message = message.map(|message| self.redactor.text(&message).into_owned());
                Progress::Step { done, total, message }
            }
            Progress::Relayed(params) => Progress::Relayed(self.json(params)),
        });
    }

    fn log(&self, params: Bytes) {
        self.next.log(self.json(params));
    }
}

//! How a tool fails.

use std::borrow::Cow;

use serde_json::Value;

use crate::sandboxed::Sandboxed;

/// A tool could not do its work. The message is for the model and says what to try.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    code: Cow<'static, str>,
    message: String,
    details: Option<Value>,
    protocol: Option<Box<Protocol>>,
    is_protocol_told: bool,
    sandboxed: Option<Box<Sandboxed>>,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The error of the protocol that an upstream answered with, for callers who are told it as it is: those of
/// actions, those whose client lacks what the tool needs, and those of tools whose owner wants it so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protocol {
    /// Its JSON-RPC code.
    pub code: i64,
    /// Its sentence, cleaned.
    pub message: String,
    /// Its `data` as JSON text, if it has some of bearable size.
    pub data: Option<String>,
}

impl ToolError {
    /// The code of a call that was given up by its caller.
    pub const CANCELLED: &'static str = "cancelled";

    /// The code of a call that was not sent, and may be made again.
    pub const GONE: &'static str = "gone";

    /// The code of a call whose workspace has lost its folder.
    pub const WORKSPACE_GONE: &'static str = "workspace_gone";

    /// An error with a stable code (`snake_case`) and a sentence.
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> ToolError {
        ToolError {
            code: code.into(),
            message: message.into(),
            details: None,
            protocol: None,
            is_protocol_told: false,
            sandboxed: None,
            source: None,
        }
    }

    /// The caller gave the call up.
    pub fn cancelled() -> ToolError {
        ToolError::new(ToolError::CANCELLED, "the call was cancelled")
    }

    /// The server that the tool belongs to was exchanged or removed before the call was sent: nothing was done.
    pub fn gone(server: &str) -> ToolError {
        let message = format!(
            "`{server}` was exchanged or removed before this call was sent; nothing was done, so list the tools and call again"
        );
        let details = serde_json::json!({ "upstream": server, "retry": true });
        ToolError::new(ToolError::GONE, message).with_details(details)
    }

    /// Adds facts for programs.
    pub fn with_details(self, details: Value) -> ToolError {
        ToolError { details: Some(details), ..self }
    }

    /// Adds the error of the protocol that stands behind this one.
    #[must_use]
    pub fn with_protocol(self, protocol: Protocol) -> ToolError {
        ToolError { protocol: Some(Box::new(protocol)), ..self }
    }

    /// Has the error of the protocol told as such to the caller of a tool, too.
    #[must_use]
    pub fn telling_protocol(self) -> ToolError {
        ToolError { is_protocol_told: true, ..self }
    }

    /// True if the caller of a tool is to be told the error of the protocol.
    pub fn is_protocol_told(&self) -> bool {
        self.is_protocol_told && self.protocol.is_some()
    }

    /// The error of the protocol that stands behind this one.
    pub fn protocol(&self) -> Option<&Protocol> {
        self.protocol.as_deref()
    }

    /// Adds how the programs of the call ran.
    #[must_use]
    pub fn with_sandboxed(self, sandboxed: Option<Box<Sandboxed>>) -> ToolError {
        ToolError { sandboxed, ..self }
    }

    /// How the programs of the call ran, if some did.
    pub fn sandboxed(&self) -> Option<&Sandboxed> {
        self.sandboxed.as_deref()
    }

    /// Adds a line to the sentence.
    #[must_use]
    pub fn with_line(self, line: &str) -> ToolError {
        ToolError { message: format!("{}\n{line}", self.message), ..self }
    }

    /// Adds the private cause, for operators.
    pub fn with_source(self, source: impl std::error::Error + Send + Sync + 'static) -> ToolError {
        ToolError { source: Some(Box::new(source)), ..self }
    }

    /// The same error with its sentence and facts passed through `reword`, such as to take secrets out. The
    /// private cause, which may repeat them, is let go.
    #[must_use]
    pub fn reworded(self, reword: impl Fn(&str) -> String) -> ToolError {
        let details = self.details.and_then(|facts| serde_json::from_str(&reword(&facts.to_string())).ok());
        let protocol = self.protocol.map(|protocol| {
            let data = protocol.data.map(|data| reword(&data));
            Box::new(Protocol { code: protocol.code, message: reword(&protocol.message), data })
        });
        let message = reword(&self.message);
        ToolError { message, details, protocol, source: None, ..self }
    }

    /// The stable code.
    pub fn code(&self) -> &Cow<'static, str> {
        &self.code
    }

    /// The facts for programs.
    pub fn details(&self) -> Option<&Value> {
        self.details.as_ref()
    }
}

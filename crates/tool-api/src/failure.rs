//! How a tool fails.

use std::borrow::Cow;

use serde_json::Value;

/// A tool could not do its work. The message is for the model and says what to try.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    code: Cow<'static, str>,
    message: String,
    details: Option<Value>,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl ToolError {
    /// The code of a call that was given up by its caller.
    pub const CANCELLED: &'static str = "cancelled";

    /// An error with a stable code (`snake_case`) and a sentence.
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> ToolError {
        ToolError { code: code.into(), message: message.into(), details: None, source: None }
    }

    /// The caller gave the call up.
    pub fn cancelled() -> ToolError {
        ToolError::new(ToolError::CANCELLED, "the call was cancelled")
    }

    /// Adds facts for programs.
    pub fn with_details(self, details: Value) -> ToolError {
        ToolError { details: Some(details), ..self }
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
        ToolError { code: self.code, message: reword(&self.message), details, source: None }
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

//! JSON-RPC error codes and the error object.

use crate::scan::Fault;

/// The codes we send. The numbers are JSON-RPC 2.0 section 5.1; -32000 is from its range for implementations,
/// -32002 from MCP before 2026-07-28, and those from -32020 on from MCP 2026-07-28, "Error Codes".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The bytes are not JSON.
    ParseError,
    /// JSON, but no sound message.
    InvalidRequest,
    /// No such method.
    MethodNotFound,
    /// The method's parameters are wrong; also an unknown tool (MCP, "Error Handling" of tools).
    InvalidParams,
    /// We failed.
    InternalError,
    /// The caller asks more often than the limit allows.
    RateLimited,
    /// There is no such resource (legacy revisions only; the modern one says `InvalidParams`).
    ResourceNotFound,
    /// A header is missing, unreadable, or says something else than the body.
    HeaderMismatch,
    /// The request needs a capability that its client did not declare with it.
    MissingClientCapability,
    /// We do not speak the revision that the request names.
    UnsupportedVersion,
    /// An upstream's code, passed on.
    Relayed(i64),
}

impl Code {
    /// The number on the wire.
    pub fn number(self) -> i64 {
        match self {
            Code::ParseError => -32700,
            Code::InvalidRequest => -32600,
            Code::MethodNotFound => -32601,
            Code::InvalidParams => -32602,
            Code::InternalError => -32603,
            Code::RateLimited => -32000,
            Code::ResourceNotFound => -32002,
            Code::HeaderMismatch => -32020,
            Code::MissingClientCapability => -32021,
            Code::UnsupportedVersion => -32022,
            Code::Relayed(number) => number,
        }
    }
}

/// An error answer before it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireError {
    /// Which kind.
    pub code: Code,
    /// A sentence for the caller.
    pub message: String,
    /// The `data` member as JSON text.
    pub data: Option<String>,
}

impl WireError {
    /// An error without data.
    pub fn new(code: Code, message: impl Into<String>) -> WireError {
        WireError { code, message: message.into(), data: None }
    }

    /// The same error with a `data` member, given as JSON text.
    pub fn with_data(self, data: String) -> WireError {
        WireError { data: Some(data), ..self }
    }
}

impl From<Fault> for WireError {
    fn from(fault: Fault) -> WireError {
        if fault.is_wellformed() {
            WireError::new(Code::InvalidRequest, format!("Invalid request: {fault}"))
        } else {
            WireError::new(Code::ParseError, format!("Parse error: {fault}"))
        }
    }
}

//! Every spelling of JSON-RPC and MCP, and nothing that acts: no I/O, no async.
//!
//! A frame is checked once, strictly, by [`scan`]; after that its parts are slices of the frame and are
//! never parsed into a tree. What we do not understand passes through as the bytes it came in.

pub mod completion;
pub mod cursor;
mod edit;
pub mod error;
pub mod headers;
pub mod http;
pub mod id;
pub mod initialize;
pub mod lines;
pub mod log_level;
pub mod message;
pub mod meta;
pub mod object;
pub mod paging;
pub mod param_headers;
pub mod patch;
pub mod prompts;
pub mod reduce;
pub mod relayed;
pub mod resources;
pub mod revision;
pub mod scan;
pub mod shallow;
pub mod sse;
pub mod string;
pub mod subscriptions;
pub mod tools;
pub mod uri_template;
pub mod uris;
pub mod write;

/// Text that shares the memory of the frame it came in: a method, a name.
pub use bytestring::ByteString;
pub use error::{Code, WireError};
pub use id::Id;
pub use lines::{Line, Lines};
pub use log_level::LogLevel;
pub use message::{Frame, Message};
pub use object::Object;
pub use revision::Revision;

/// Largest message on stdio, in bytes.
pub const STDIO_MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Largest request body over HTTP, in bytes.
pub const HTTP_BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Deepest nesting of arrays and objects in one message.
pub const DEPTH_MAX: usize = 128;

/// Most messages in one JSON-RPC batch (revision 2025-03-26 only).
pub const BATCH_MESSAGES_MAX: usize = 100;

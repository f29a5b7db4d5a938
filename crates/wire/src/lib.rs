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
mod limits;
pub mod lines;
pub mod log_level;
pub mod message;
pub mod meta;
pub mod object;
mod object_writer;
pub mod paging;
pub mod param_headers;
pub mod patch;
pub mod prompts;
pub mod reduce;
pub mod relayed;
pub mod resources;
pub mod revision;
pub mod scan;
pub mod sse;
pub mod string;
pub mod subscriptions;
pub mod tasks;
mod text;
pub mod tools;
pub mod uri_template;
pub mod uris;
pub mod vocabulary;
pub mod write;

/// Text that shares the memory of the frame it came in: a method, a name.
pub use bytestring::ByteString;
pub use error::{Code, WireError};
pub use id::Id;
pub use limits::{BATCH_MESSAGES_MAX, DEPTH_MAX, HTTP_BODY_BYTES_MAX, STDIO_MESSAGE_BYTES_MAX};
pub use lines::{Line, Lines};
pub use log_level::LogLevel;
pub use message::{Frame, Message};
pub use object::Object;
pub use revision::Revision;

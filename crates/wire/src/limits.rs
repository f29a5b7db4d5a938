//! How much a message may hold, whatever it came over.

/// Largest message on stdio, in bytes.
pub const STDIO_MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Largest request body over HTTP, in bytes.
pub const HTTP_BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Deepest nesting of arrays and objects in one message.
pub const DEPTH_MAX: usize = 128;

/// Most messages in one JSON-RPC batch (revision 2025-03-26 only).
pub const BATCH_MESSAGES_MAX: usize = 100;

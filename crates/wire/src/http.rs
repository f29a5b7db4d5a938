//! Names of the Streamable HTTP transport.

/// Names the session that `initialize` opened.
pub const SESSION_ID: &str = "mcp-session-id";

/// Names the negotiated revision on every later request (since 2025-06-18).
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";

/// The media type of one JSON message.
pub const JSON: &str = "application/json";

/// The media type of a stream of messages.
pub const EVENT_STREAM: &str = "text/event-stream";

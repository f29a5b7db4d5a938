//! Names of the Streamable HTTP transport.

/// Names the session that `initialize` opened.
pub const SESSION_ID: &str = "mcp-session-id";

/// Names the negotiated revision on every later request (since 2025-06-18).
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";

/// Repeats the method of a request (since 2026-07-28).
pub const METHOD: &str = "mcp-method";

/// Repeats what a request is about: see [`crate::headers::name_param`] (since 2026-07-28).
pub const NAME: &str = "mcp-name";

/// Begins the headers that repeat annotated arguments: see [`crate::param_headers`] (since 2026-07-28).
pub const PARAM_PREFIX: &str = "mcp-param-";

/// Names the last event that arrived, when a stream is asked for its rest (legacy revisions).
pub const LAST_EVENT_ID: &str = "last-event-id";

/// The media type of one JSON message.
pub const JSON: &str = "application/json";

/// The media type of a stream of messages.
pub const EVENT_STREAM: &str = "text/event-stream";

//! Words of MCP, JSON-RPC and JSON Schema. A name of a member or a value that is one of them as a whole is no secret
//! wherever it stands, whatever else is called so: without it nobody could read the message that it is in.

/// Names of members, in their order. Words of fewer than four letters are too short to be struck out.
const NAMES: &[&str] = &[
    "$schema",
    "_meta",
    "action",
    "additionalProperties",
    "allOf",
    "annotations",
    "anyOf",
    "argument",
    "arguments",
    "audience",
    "cacheScope",
    "capabilities",
    "code",
    "completion",
    "const",
    "content",
    "contents",
    "context",
    "createdAt",
    "cursor",
    "data",
    "default",
    "description",
    "destructiveHint",
    "enum",
    "error",
    "execution",
    "format",
    "hasMore",
    "hints",
    "icons",
    "idempotentHint",
    "inputRequests",
    "inputResponses",
    "inputSchema",
    "instructions",
    "isError",
    "items",
    "jsonrpc",
    "lastModified",
    "lastUpdatedAt",
    "level",
    "logger",
    "maxItems",
    "maxLength",
    "maxTokens",
    "maximum",
    "message",
    "messages",
    "method",
    "mimeType",
    "minItems",
    "minLength",
    "minimum",
    "mode",
    "model",
    "modelPreferences",
    "name",
    "nextCursor",
    "oneOf",
    "openWorldHint",
    "outputSchema",
    "params",
    "pattern",
    "patternProperties",
    "pollInterval",
    "priority",
    "progress",
    "progressToken",
    "prompts",
    "properties",
    "protocolVersion",
    "readOnlyHint",
    "requestState",
    "requestedSchema",
    "required",
    "resource",
    "resourceTemplates",
    "resources",
    "result",
    "resultType",
    "role",
    "roots",
    "serverInfo",
    "size",
    "sizes",
    "status",
    "statusMessage",
    "stopReason",
    "structuredContent",
    "systemPrompt",
    "task",
    "taskId",
    "taskSupport",
    "tasks",
    "text",
    "theme",
    "title",
    "tools",
    "total",
    "ttlMs",
    "type",
    "uriTemplate",
    "value",
    "values",
    "version",
];

/// Values that have a meaning of their own, in their order.
const VALUES: &[&str] = &[
    "accept",
    "alert",
    "array",
    "assistant",
    "audio",
    "boolean",
    "cancel",
    "cancelled",
    "complete",
    "completed",
    "critical",
    "debug",
    "decline",
    "elicitation/create",
    "emergency",
    "endTurn",
    "error",
    "failed",
    "forbidden",
    "form",
    "image",
    "info",
    "input_required",
    "integer",
    "notice",
    "null",
    "number",
    "object",
    "optional",
    "private",
    "public",
    "required",
    "resource",
    "resource_link",
    "roots/list",
    "sampling/createMessage",
    "string",
    "task",
    "text",
    "tool_result",
    "tool_use",
    "user",
    "warning",
    "working",
];

/// Kinds of media, which are what a MIME type begins with.
const MEDIA: &[&str] =
    &["application/", "audio/", "font/", "image/", "message/", "model/", "multipart/", "text/", "video/"];

/// Longest MIME type without parameters, in bytes; longer ones have room for a secret.
const MIME_BYTES_MAX: usize = 40;

/// True if the name of a member is a word of the protocol.
pub(super) fn is_name(name: &[u8]) -> bool {
    holds(NAMES, name)
}

/// True if the value of a member of this name is a word of the protocol.
pub(super) fn is_value(name: Option<&[u8]>, value: &[u8]) -> bool {
    holds(VALUES, value) || (name == Some(b"mimeType") && is_mime(value))
}

/// True for `text/html` and the like, without digits and capitals, of which secrets are made.
fn is_mime(value: &[u8]) -> bool {
    value.len() <= MIME_BYTES_MAX
        && MEDIA.iter().any(|media| value.starts_with(media.as_bytes()))
        && value.iter().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'/' | b'+' | b'-' | b'.'))
}

fn holds(words: &[&str], word: &[u8]) -> bool {
    words.binary_search_by(|known| known.as_bytes().cmp(word)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_protocol_are_known() {
        assert!(NAMES.is_sorted() && VALUES.is_sorted());
        for name in ["content", "structuredContent", "uriTemplate"] {
            assert!(is_name(name.as_bytes()), "{name}");
        }
        assert!(!is_name(b"contents2") && !is_name(b""));
        for (name, value, expected) in [
            (None, "text", true),
            (Some("role"), "user", true),
            (Some("role"), "users", false),
            (Some("mimeType"), "text/html", true),
            (Some("mimeType"), "application/vnd.api+json", true),
            (Some("mimeType"), "text/s3cret", false),
            (Some("type"), "text/html", false),
            (None, "text/html", false),
        ] {
            assert_eq!(is_value(name.map(str::as_bytes), value.as_bytes()), expected, "{name:?} {value}");
        }
    }
}

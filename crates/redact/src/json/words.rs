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

/// What common types go on with, in their order; none of them is a secret.
const SUBTYPES: &[&str] = &[
    "css",
    "csv",
    "event-stream",
    "form-data",
    "gif",
    "gzip",
    "html",
    "javascript",
    "jpeg",
    "json",
    "ld+json",
    "markdown",
    "mpeg",
    "octet-stream",
    "ogg",
    "pdf",
    "plain",
    "png",
    "svg+xml",
    "wav",
    "webm",
    "webp",
    "x-www-form-urlencoded",
    "xml",
    "yaml",
    "zip",
];

/// Longest MIME type without parameters, in bytes; longer ones have room for a secret.
const MIME_BYTES_MAX: usize = 40;

/// From this length on a known value goes out of a type that is not common, in bytes; shorter ones may be a part of it
/// by chance.
const IN_MIME_BYTES_MIN: usize = 8;

/// How long a known value must be to be struck out of this name of a member, in bytes.
pub(super) fn least_in_name(name: &[u8]) -> usize {
    if holds(NAMES, name) { usize::MAX } else { 0 }
}

/// The same for the value of a member of this name.
pub(super) fn least_in_value(name: Option<&[u8]>, value: &[u8]) -> usize {
    match name {
        _ if holds(VALUES, value) => usize::MAX,
        Some(b"mimeType") => least_in_mime(value),
        _ => 0,
    }
}

/// The same for `text/html` and the like, without digits and capitals, of which secrets are made.
fn least_in_mime(value: &[u8]) -> usize {
    let is_type = value.len() <= MIME_BYTES_MAX
        && value.iter().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'/' | b'+' | b'-' | b'.'));
    match MEDIA.iter().find_map(|media| value.strip_prefix(media.as_bytes())).filter(|_| is_type) {
        Some(subtype) if holds(SUBTYPES, subtype) => usize::MAX,
        Some(_) => IN_MIME_BYTES_MIN,
        None => 0,
    }
}

fn holds(words: &[&str], word: &[u8]) -> bool {
    words.binary_search_by(|known| known.as_bytes().cmp(word)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_protocol_are_known() {
        assert!(NAMES.is_sorted() && VALUES.is_sorted() && SUBTYPES.is_sorted());
        for name in ["content", "structuredContent", "uriTemplate"] {
            assert_eq!(least_in_name(name.as_bytes()), usize::MAX, "{name}");
        }
        assert_eq!([least_in_name(b"contents2"), least_in_name(b"")], [0, 0]);
        for (name, value, expected) in [
            (None, "text", usize::MAX),
            (Some("role"), "user", usize::MAX),
            (Some("role"), "users", 0),
            (Some("mimeType"), "text/html", usize::MAX),
            (Some("mimeType"), "application/vnd.api+json", 8),
            (Some("mimeType"), "text/correct-horse-battery", 8),
            (Some("mimeType"), "text/s3cret", 0),
            (Some("type"), "text/html", 0),
            (None, "text/html", 0),
        ] {
            assert_eq!(
                least_in_value(name.map(str::as_bytes), value.as_bytes()),
                expected,
                "{name:?} {value}"
            );
        }
    }
}

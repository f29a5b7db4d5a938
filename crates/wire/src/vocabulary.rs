//! The words of MCP, JSON-RPC and JSON Schema as plain data, for whoever must tell what the protocol says from what somebody
//! else says with it: redaction and the AI rules. There is no other list of them.

use crate::meta::{
    CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROGRESS_TOKEN, PROTOCOL_VERSION, SERVER_INFO,
    SUBSCRIPTION_ID,
};

/// A member of the protocol's objects.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// Its name.
    pub name: &'static str,
    /// What its value is.
    pub holds: Holds,
}

/// What the value of a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// The protocol's own objects, lists, numbers and flags.
    Structure,
    /// One of these words, or several. Another text there is free.
    Words(&'static [&'static str]),
    /// The name of a media type.
    MediaType,
    /// A time after RFC 3339.
    Time,
    /// A name that somebody gave to something, to find it again.
    Identifier,
    /// Bytes in base64.
    Bytes,
    /// A URI, or a template of some.
    Address,
    /// Free text.
    Text,
    /// An object or a value whose words are not the protocol's.
    Foreign,
}

/// What an `_meta` key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetaUse {
    /// The protocol's own, about one hop: read, and written anew, where it is passed on.
    Envelope,
    /// The protocol's own, about more than one hop.
    Protocol,
    /// Of a client, or of those who trace calls: it counts calls or conversations, so it is another one each time.
    PerCall,
}

const fn structure(name: &'static str) -> Member {
    Member { name, holds: Holds::Structure }
}

const fn words(name: &'static str, words: &'static [&'static str]) -> Member {
    Member { name, holds: Holds::Words(words) }
}

const fn holding(name: &'static str, holds: Holds) -> Member {
    Member { name, holds }
}

/// The members of the protocol's objects.
pub const MEMBERS: &[Member] = &[
    // Words that have a meaning of their own.
    words("action", &["accept", "decline", "cancel"]),
    words("audience", &["user", "assistant"]),
    words("cacheScope", &["public", "private"]),
    words("format", &["email", "uri", "date", "date-time"]),
    words("includeContext", &["none", "thisServer", "allServers"]),
    words("jsonrpc", &["2.0"]),
    words("level", &["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]),
    words("method", &["elicitation/create", "sampling/createMessage", "roots/list"]),
    words("mode", &["form", "url", "auto", "required", "none"]),
    words("resultType", &["complete", "input_required", "task"]),
    words("role", &["user", "assistant"]),
    words("status", &["working", "input_required", "completed", "failed", "cancelled"]),
    words("stopReason", &["endTurn", "stopSequence", "maxTokens", "toolUse"]),
    words("taskSupport", &["forbidden", "optional", "required"]),
    words("theme", &["light", "dark"]),
    words(
        "type",
        &[
            "text",
            "image",
            "audio",
            "resource",
            "resource_link",
            "tool_use",
            "tool_result",
            "object",
            "string",
            "number",
            "integer",
            "boolean",
            "array",
            "null",
            "ref/prompt",
            "ref/resource",
        ],
    ),
    // What is not the protocol's own.
    holding("_meta", Holds::Foreign),
    holding("arguments", Holds::Foreign),
    holding("input", Holds::Foreign),
    holding("structuredContent", Holds::Foreign),
    holding("toolResult", Holds::Foreign),
    // Forms.
    holding("blob", Holds::Bytes),
    holding("data", Holds::Bytes),
    holding("createdAt", Holds::Time),
    holding("lastModified", Holds::Time),
    holding("lastUpdatedAt", Holds::Time),
    holding("mimeType", Holds::MediaType),
    holding("elicitationId", Holds::Identifier),
    holding("nextCursor", Holds::Identifier),
    holding("progressToken", Holds::Identifier),
    holding("requestState", Holds::Identifier),
    holding("taskId", Holds::Identifier),
    holding("toolUseId", Holds::Identifier),
    holding("src", Holds::Address),
    holding("uri", Holds::Address),
    holding("uriTemplate", Holds::Address),
    holding("url", Holds::Address),
    holding("websiteUrl", Holds::Address),
    // Free text. Cursors and ids of requests are what a client or a server makes of them.
    holding("cursor", Holds::Text),
    holding("description", Holds::Text),
    holding("id", Holds::Text),
    holding("instructions", Holds::Text),
    holding("logger", Holds::Text),
    holding("message", Holds::Text),
    holding("model", Holds::Text),
    holding("name", Holds::Text),
    holding("protocolVersion", Holds::Text),
    holding("reason", Holds::Text),
    holding("requestId", Holds::Text),
    holding("requested", Holds::Text),
    holding("statusMessage", Holds::Text),
    holding("stopSequences", Holds::Text),
    holding("systemPrompt", Holds::Text),
    holding("taskIds", Holds::Text),
    holding("text", Holds::Text),
    holding("title", Holds::Text),
    holding("value", Holds::Text),
    holding("values", Holds::Text),
    holding("version", Holds::Text),
    // Structure.
    structure("$defs"),
    structure("$schema"),
    structure("additionalProperties"),
    structure("allOf"),
    structure("annotations"),
    structure("anyOf"),
    structure("argument"),
    structure("capabilities"),
    structure("clientInfo"),
    structure("code"),
    structure("completion"),
    structure("const"),
    structure("content"),
    structure("contents"),
    structure("context"),
    structure("costPriority"),
    structure("default"),
    structure("definitions"),
    structure("dependencies"),
    structure("dependentSchemas"),
    structure("destructiveHint"),
    structure("elicitation"),
    structure("enum"),
    structure("enumNames"),
    structure("error"),
    structure("exclusiveMaximum"),
    structure("exclusiveMinimum"),
    structure("examples"),
    structure("execution"),
    structure("form"),
    structure("hasMore"),
    structure("hints"),
    structure("icons"),
    structure("idempotentHint"),
    structure("inputRequests"),
    structure("inputResponses"),
    structure("inputSchema"),
    structure("intelligencePriority"),
    structure("isError"),
    structure("items"),
    structure("listChanged"),
    structure("maxItems"),
    structure("maxLength"),
    structure("maxTokens"),
    structure("maximum"),
    structure("messages"),
    structure("metadata"),
    structure("minItems"),
    structure("minLength"),
    structure("minimum"),
    structure("modelPreferences"),
    structure("multipleOf"),
    structure("notifications"),
    structure("oneOf"),
    structure("openWorldHint"),
    structure("outputSchema"),
    structure("params"),
    structure("pattern"),
    structure("patternProperties"),
    structure("pollInterval"),
    structure("pollIntervalMs"),
    structure("priority"),
    structure("progress"),
    structure("prompts"),
    structure("promptsListChanged"),
    structure("properties"),
    structure("readOnlyHint"),
    structure("ref"),
    structure("requestedSchema"),
    structure("required"),
    structure("requiredCapabilities"),
    structure("resource"),
    structure("resourceTemplates"),
    structure("resourceSubscriptions"),
    structure("resources"),
    structure("resourcesListChanged"),
    structure("result"),
    structure("roots"),
    structure("sampling"),
    structure("serverInfo"),
    structure("size"),
    structure("sizes"),
    structure("speedPriority"),
    structure("subscribe"),
    structure("supported"),
    structure("task"),
    structure("tasks"),
    structure("temperature"),
    structure("toolChoice"),
    structure("tools"),
    structure("toolsListChanged"),
    structure("total"),
    structure("ttl"),
    structure("ttlMs"),
    structure("uniqueItems"),
];

/// The keys of `_meta` that are known, and what each is. Those that end with `*` are the beginnings of some.
pub const META_KEYS: &[(&str, MetaUse)] = &[
    (PROTOCOL_VERSION, MetaUse::Envelope),
    (CLIENT_CAPABILITIES, MetaUse::Envelope),
    (CLIENT_INFO, MetaUse::Envelope),
    (LOG_LEVEL, MetaUse::Envelope),
    (PROGRESS_TOKEN, MetaUse::Envelope),
    (SERVER_INFO, MetaUse::Protocol),
    (SUBSCRIPTION_ID, MetaUse::Protocol),
    ("io.modelcontextprotocol/related-task", MetaUse::PerCall),
    ("tracestate", MetaUse::PerCall),
    ("baggage", MetaUse::PerCall),
    ("b3", MetaUse::PerCall),
    ("sentry-trace", MetaUse::PerCall),
    ("claudecode/toolUseId", MetaUse::PerCall),
    ("vscode.conversationId", MetaUse::PerCall),
    ("vscode.requestId", MetaUse::PerCall),
    ("x-codex-turn-metadata", MetaUse::PerCall),
    ("threadId", MetaUse::PerCall),
    ("_toolCallId", MetaUse::PerCall),
    ("openai/*", MetaUse::PerCall),
    ("x-datadog-*", MetaUse::PerCall),
];

//! The words of MCP, JSON-RPC and JSON Schema as plain data, for whoever must tell what the protocol says from what somebody
//! else says with it: redaction and the AI rules. There is no other list of them.

use crate::meta::{ENVELOPE, SERVER_INFO, SUBSCRIPTION_ID};

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

/// The members whose values are words.
const WORDS: &[(&str, &[&str])] = &[
    ("action", &["accept", "decline", "cancel"]),
    ("audience", &["user", "assistant"]),
    ("cacheScope", &["public", "private"]),
    ("format", &["email", "uri", "date", "date-time"]),
    ("includeContext", &["none", "thisServer", "allServers"]),
    ("jsonrpc", &["2.0"]),
    ("level", &["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]),
    ("method", &["elicitation/create", "sampling/createMessage", "roots/list"]),
    ("mode", &["form", "url", "auto", "required", "none"]),
    ("resultType", &["complete", "input_required", "task"]),
    ("role", &["user", "assistant"]),
    ("status", &["working", "input_required", "completed", "failed", "cancelled"]),
    ("stopReason", &["endTurn", "stopSequence", "maxTokens", "toolUse"]),
    ("taskSupport", &["forbidden", "optional", "required"]),
    ("theme", &["light", "dark"]),
    (
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
];

/// All others, by what they hold. Cursors and ids of requests are what a client or a server makes of them.
const OTHERS: &[(Holds, &str)] = &[
    (Holds::Foreign, "_meta arguments input structuredContent toolResult"),
    (Holds::Bytes, "blob data"),
    (Holds::Time, "createdAt lastModified lastUpdatedAt"),
    (Holds::MediaType, "mimeType"),
    (Holds::Identifier, "elicitationId nextCursor progressToken requestState taskId toolUseId"),
    (Holds::Address, "src uri uriTemplate url websiteUrl"),
    (
        Holds::Text,
        "cursor description id instructions logger message model name protocolVersion reason requestId \
         requested statusMessage stopSequences systemPrompt taskIds text title value values version",
    ),
    (
        Holds::Structure,
        "$defs $schema additionalProperties allOf annotations anyOf argument capabilities clientInfo code \
         completion const content contents context costPriority default definitions dependencies \
         dependentSchemas destructiveHint elicitation enum enumNames error examples exclusiveMaximum \
         exclusiveMinimum execution form hasMore hints icons idempotentHint inputRequests inputResponses \
         inputSchema intelligencePriority isError items listChanged maxItems maxLength maxTokens maximum \
         messages metadata minItems minLength minimum modelPreferences multipleOf notifications oneOf \
         openWorldHint outputSchema params pattern patternProperties pollInterval pollIntervalMs priority \
         progress prompts promptsListChanged properties readOnlyHint ref requestedSchema required \
         requiredCapabilities resource resourceSubscriptions resourceTemplates resources \
         resourcesListChanged result roots sampling serverInfo size sizes speedPriority subscribe \
         supported task tasks temperature toolChoice tools toolsListChanged total ttl ttlMs uniqueItems",
    ),
];

/// The members of the protocol's objects.
pub fn members() -> impl Iterator<Item = Member> {
    let words = WORDS.iter().map(|(name, words)| Member { name, holds: Holds::Words(words) });
    let others = OTHERS
        .iter()
        .flat_map(|(holds, names)| names.split_ascii_whitespace().map(|name| Member { name, holds: *holds }));
    words.chain(others)
}

/// The keys of `_meta` that are known, and what each is. Those that end with `*` are the beginnings of some.
pub fn meta_keys() -> impl Iterator<Item = (&'static str, MetaUse)> {
    let known = [(MetaUse::Envelope, &ENVELOPE[..]), (MetaUse::Protocol, &[SERVER_INFO, SUBSCRIPTION_ID])];
    let known = known.into_iter().flat_map(|(meta_use, keys)| keys.iter().map(move |key| (*key, meta_use)));
    known.chain(PER_CALL.split_ascii_whitespace().map(|key| (key, MetaUse::PerCall)))
}

/// The keys in which clients, and those who trace calls, count calls and conversations.
const PER_CALL: &str = "io.modelcontextprotocol/related-task tracestate baggage b3 sentry-trace claudecode/toolUseId \
                        vscode.conversationId vscode.requestId x-codex-turn-metadata threadId _toolCallId openai/* \
                        x-datadog-* toolcrib/request_id";

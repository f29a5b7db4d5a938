//! The leanest MCP server: answers made of constant bytes around the raw `id` and `message` of the request.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::json_members::member;

/// A description that brings each synthetic tool to about 440 bytes, the usual size in public servers.
const DESCRIPTION: &str = "Looks up one record of the collection by its key and returns it as text. The key is matched exactly; \
use the filter to keep only some of its fields.";

/// What the tool `blob` returns: a little less than the product lets through.
const BLOB_BYTES: usize = 31 * 1024 * 1024;

/// Answers MCP requests; made once, then read only.
pub struct McpAnswers {
    /// The result of `tools/list`, serialised once.
    tools: Vec<u8>,
}

impl McpAnswers {
    /// Offers `echo` and `synthetic_tools` more.
    pub fn new(synthetic_tools: u16) -> Self {
        let mut tools = String::from(
            r#"{"tools":[{"name":"echo","description":"Returns the message.","inputSchema":{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]},"annotations":{"readOnlyHint":true}},{"name":"blob","description":"Returns 31 MiB of text.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"now","description":"Returns the time in nanoseconds since 1970.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
        );
        for number in 0..synthetic_tools {
            tools.push_str(&synthetic_tool(number));
        }
        tools.push_str("]}");
        Self { tools: tools.into_bytes() }
    }

    /// Appends the answer to `request`; nothing for a notification or a response.
    pub fn answer(&self, request: &[u8], output: &mut Vec<u8>) {
        let (Some(id), Some(method)) = (member(request, b"id"), member(request, b"method")) else { return };
        output.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        output.extend_from_slice(id);
        match method {
            br#""ping""# => output.extend_from_slice(br#","result":{}"#),
            br#""tools/call""# if names(request, br#""blob""#) => blob(output),
            br#""tools/call""# if names(request, br#""now""#) => now(output),
            br#""tools/call""# => call(request, output),
            br#""tools/list""# => {
                output.extend_from_slice(br#","result":"#);
                output.extend_from_slice(&self.tools);
            }
            br#""initialize""# => initialize(request, output),
            _ => output.extend_from_slice(br#","error":{"code":-32601,"message":"method not found"}"#),
        }
        output.push(b'}');
    }
}

fn synthetic_tool(number: u16) -> String {
    format!(
        r#",{{"name":"lookup_{number:05}","description":"{DESCRIPTION}","inputSchema":{{"type":"object","properties":{{"key":{{"type":"string","description":"The key of the record."}},"filter":{{"type":"array","items":{{"type":"string"}},"description":"Names of fields."}}}},"required":["key"]}}}}"#
    )
}

fn initialize(request: &[u8], output: &mut Vec<u8>) {
    let revision = member(request, b"params").and_then(|params| member(params, b"protocolVersion"));
    output.extend_from_slice(br#","result":{"protocolVersion":"#);
    output.extend_from_slice(revision.unwrap_or(br#""2025-06-18""#));
    output.extend_from_slice(
        br#","capabilities":{"tools":{}},"serverInfo":{"name":"mcp-echo-floor","version":"0"}}"#,
    );
}

fn call(request: &[u8], output: &mut Vec<u8>) {
    let message = member(request, b"params")
        .and_then(|params| member(params, b"arguments"))
        .and_then(|arguments| member(arguments, b"message"));
    match message {
        Some(message) => {
            output.extend_from_slice(br#","result":{"content":[{"type":"text","text":"#);
            output.extend_from_slice(message);
            output.extend_from_slice(br#"}]}"#);
        }
        None => output.extend_from_slice(br#","error":{"code":-32602,"message":"message is missing"}"#),
    }
}

/// Whether a call is of the tool of this name, which is in quotes.
fn names(request: &[u8], name: &[u8]) -> bool {
    member(request, b"params").and_then(|params| member(params, b"name")) == Some(name)
}

/// The time at which a call got here.
fn now(output: &mut Vec<u8>) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let text = format!(r#","result":{{"content":[{{"type":"text","text":"{}"}}]}}"#, since.as_nanos());
    output.extend_from_slice(text.as_bytes());
}

/// A text of [`BLOB_BYTES`] in words, so that whoever looks for something in it has to look at all of it.
fn blob(output: &mut Vec<u8>) {
    const WORD: &[u8] = b"lorem-ipsum dolor=sit ";
    output.extend_from_slice(br#","result":{"content":[{"type":"text","text":""#);
    for _ in 0..BLOB_BYTES / WORD.len() {
        output.extend_from_slice(WORD);
    }
    output.extend_from_slice(br#""}]}"#);
}

#[cfg(test)]
mod tests {
    use super::McpAnswers;

    fn check(request: &str, expected: &str) {
        let mut output = Vec::new();
        McpAnswers::new(0).answer(request.as_bytes(), &mut output);
        assert_eq!(str::from_utf8(&output).expect("UTF-8"), expected);
    }

    #[test]
    fn answers_requests() {
        check(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        check(
            r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"}}}"#,
            r#"{"jsonrpc":"2.0","id":"x","result":{"content":[{"type":"text","text":"hi"}]}}"#,
        );
    }

    #[test]
    fn is_silent_for_notifications() {
        check(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, "");
    }

    #[test]
    fn synthetic_tools_are_about_440_bytes() {
        let size = super::synthetic_tool(7).len();
        assert!((400..480).contains(&size), "{size}");
    }
}

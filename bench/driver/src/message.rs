//! The requests the driver sends, and the check of every answer. It knows JSON-RPC, not how bytes travel.

use std::io::Write as _;

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The revision the driver speaks; all programs in the bench know it.
pub(crate) const REVISION: &str = "2025-06-18";

/// The revision without a handshake, as far as the driver speaks it.
const MODERN_REVISION: &str = "2026-07-28";

/// The notification that ends the handshake.
pub(crate) const INITIALIZED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A request without its id, and what a good answer holds.
#[derive(Clone)]
pub(crate) struct Request {
    after_id: Vec<u8>,
    expected: Expected,
}

#[derive(Clone)]
enum Expected {
    /// The request itself, byte for byte: a floor that speaks no protocol.
    Echo,
    /// A result, whatever it holds.
    Result,
    /// A result in which this text occurs, not marked as an error.
    Text(String),
}

impl Request {
    /// `ping`.
    pub(crate) fn ping() -> Self {
        Self { after_id: br#","method":"ping"}"#.to_vec(), expected: Expected::Result }
    }

    /// `initialize` as a client without any capability.
    pub(crate) fn initialize() -> Self {
        let after_id = format!(
            r#","method":"initialize","params":{{"protocolVersion":"{REVISION}","capabilities":{{}},"clientInfo":{{"name":"bench","version":"0.0.0"}}}}}}"#
        );
        Self { after_id: after_id.into_bytes(), expected: Expected::Text("protocolVersion".into()) }
    }

    /// `tools/call` with `arguments` as JSON; a good answer holds `text`.
    pub(crate) fn tool(name: &str, arguments: &str, text: &str) -> Self {
        let after_id =
            format!(r#","method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#);
        Self { after_id: after_id.into_bytes(), expected: Expected::Text(text.into()) }
    }

    /// `tools/list`, from a cursor where the last page gave one.
    pub(crate) fn tools(cursor: Option<&str>) -> Self {
        let params = cursor.map(|cursor| format!(r#","params":{{"cursor":{}}}"#, quoted(cursor)));
        let after_id = format!(r#","method":"tools/list"{}}}"#, params.unwrap_or_default());
        Self { after_id: after_id.into_bytes(), expected: Expected::Text("\"tools\"".into()) }
    }

    /// The same request in the revision without a handshake. Only for requests whose parameters end it.
    pub(crate) fn modern(&self) -> Self {
        let legacy = std::str::from_utf8(&self.after_id).expect("requests are UTF-8");
        let params = legacy.strip_suffix("}}").expect("the parameters end the request");
        let after_id = format!(
            r#"{params},"_meta":{{"io.modelcontextprotocol/protocolVersion":"{MODERN_REVISION}","io.modelcontextprotocol/clientCapabilities":{{}},"io.modelcontextprotocol/clientInfo":{{"name":"bench","version":"0.0.0"}}}}}}}}"#
        );
        Self { after_id: after_id.into_bytes(), expected: self.expected.clone() }
    }

    /// The same call as a job. Only for requests whose parameters end it.
    pub(crate) fn as_job(&self) -> Self {
        let call = std::str::from_utf8(&self.after_id).expect("requests are UTF-8");
        let params = call.strip_suffix("}}").expect("the parameters end the request");
        let after_id = format!(r#"{params},"_meta":{{"toolcrib/job":true}}}}}}"#);
        Self { after_id: after_id.into_bytes(), expected: Expected::Text("job_id".into()) }
    }

    /// The same bytes, for a program that sends them back.
    pub(crate) fn echoed(&self) -> Self {
        Self { after_id: self.after_id.clone(), expected: Expected::Echo }
    }

    /// Appends the request with its id.
    pub(crate) fn render(&self, id: u64, into: &mut Vec<u8>) {
        into.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        write!(into, "{id}").expect("writing to memory cannot fail");
        into.extend_from_slice(&self.after_id);
    }

    /// The id that `message` answers; `None` for a notification, which a server may send at any time.
    pub(crate) fn check(&self, message: &[u8]) -> anyhow::Result<Option<u64>> {
        let envelope: Envelope<'_> = serde_json::from_slice(message)
            .with_context(|| format!("not a message: {}", excerpt(message)))?;
        let Some(id) = envelope.id else { return Ok(None) };
        let good = match &self.expected {
            Expected::Echo => envelope.method.is_some() && self.is_whole_request(message),
            Expected::Result => envelope.result.is_some(),
            Expected::Text(text) => envelope.result.is_some_and(|result| {
                let result = result.get().as_bytes();
                memchr::memmem::find(result, text.as_bytes()).is_some()
                    && memchr::memmem::find(result, br#""isError":true"#).is_none()
            }),
        };
        if !good {
            bail!("not the expected answer: {}", excerpt(message));
        }
        Ok(Some(id))
    }

    fn is_whole_request(&self, message: &[u8]) -> bool {
        message.starts_with(br#"{"jsonrpc":"2.0","id":"#) && message.ends_with(&self.after_id)
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

/// One page of a `tools/list` answer.
pub(crate) struct ToolPage {
    /// Tools on this page.
    pub(crate) count: usize,
    /// Where the next page starts.
    pub(crate) next: Option<String>,
}

impl ToolPage {
    /// Reads a checked answer.
    pub(crate) fn parse(answer: &[u8]) -> anyhow::Result<Self> {
        #[derive(Deserialize)]
        struct Answer<'a> {
            #[serde(borrow)]
            result: Page<'a>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Page<'a> {
            #[serde(borrow)]
            tools: Vec<&'a RawValue>,
            next_cursor: Option<String>,
        }
        let page = serde_json::from_slice::<Answer<'_>>(answer).context("not a page of tools")?.result;
        ensure!(page.next_cursor.is_none() || !page.tools.is_empty(), "an empty page promises another one");
        Ok(Self { count: page.tools.len(), next: page.next_cursor })
    }
}

/// `text` as JSON.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The beginning of a message, for an error a person reads.
fn excerpt(message: &[u8]) -> String {
    const BYTES_MAX: usize = 300;
    String::from_utf8_lossy(&message[..message.len().min(BYTES_MAX)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(request: &Request, answer: &str, expected: Result<Option<u64>, &str>) {
        let found = request.check(answer.as_bytes()).map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned));
    }

    #[test]
    fn good_answers_pass_in_any_order_of_members() {
        let call = Request::tool("echo", r#"{"message":"hello"}"#, "hello");
        check(
            &call,
            r#"{"result":{"content":[{"type":"text","text":"hello"}]},"id":7,"jsonrpc":"2.0"}"#,
            Ok(Some(7)),
        );
        check(&Request::ping(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Ok(Some(1)));
        check(&Request::ping(), r#"{"jsonrpc":"2.0","method":"notifications/message"}"#, Ok(None));
        let mut sent = Vec::new();
        call.render(9, &mut sent);
        check(&call.echoed(), str::from_utf8(&sent).expect("UTF-8"), Ok(Some(9)));
    }

    #[test]
    fn bad_answers_are_named() {
        let call = Request::tool("echo", "{}", "hello");
        for answer in [
            r#"{"id":1,"result":{"isError":true,"content":"hello"}}"#,
            r#"{"id":1,"error":{"message":"hello"}}"#,
            r#"{"id":1,"result":{"content":"other"}}"#,
        ] {
            check(&call, answer, Err(&format!("not the expected answer: {answer}")));
        }
        check(&call, "gar", Err("not a message: gar"));
    }

    #[test]
    fn pages_are_counted() {
        let page =
            ToolPage::parse(br#"{"id":1,"result":{"tools":[{},{}],"nextCursor":"x"}}"#).expect("a page");
        assert_eq!((page.count, page.next.as_deref()), (2, Some("x")));
        assert!(ToolPage::parse(br#"{"id":1,"result":{"tools":[],"nextCursor":"x"}}"#).is_err());
    }
}

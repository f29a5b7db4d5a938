//! The `_meta` of requests. What it says of the client is the same from call to call of one client, so the last
//! one's is kept.

use std::io::Write as _;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tool_api::Context;
use wire::meta::{self, OwnEnvelope, PROGRESS_TOKEN};
use wire::{LogLevel, Object, Revision};

use super::caller::log_level;

/// Writes the `_meta` of the requests of one connection.
pub(crate) struct Envelope {
    revision: Revision,
    /// Our `Implementation` object as JSON text.
    ourselves: String,
    last: Mutex<Option<Kept>>,
}

/// What is said of a client, and of whom exactly.
struct Kept {
    capabilities: Box<str>,
    info: Option<Box<[u8]>>,
    level: Option<LogLevel>,
    /// The whole object, with its braces.
    text: Arc<str>,
}

impl Envelope {
    pub(crate) fn new(revision: Revision, ourselves: String) -> Envelope {
        Envelope { revision, ourselves, last: Mutex::default() }
    }

    /// Our `Implementation` object as JSON text.
    pub(crate) fn ourselves(&self) -> &str {
        &self.ourselves
    }

    /// `params`, the text of an object, with the `_meta` of request `id`; nothing as `cx` means that it is ours.
    /// `declared` is said of its client in place of what that says itself.
    pub(crate) fn put(
        &self,
        mut params: Vec<u8>,
        cx: Option<&Context>,
        declared: Option<&str>,
        id: u64,
    ) -> Vec<u8> {
        let declared = declared.or_else(|| cx.and_then(|cx| text(&cx.client.capabilities))).unwrap_or("{}");
        let token = cx.filter(|cx| cx.listener.is_some()).map(|_| id);
        let passed_on = cx.and_then(Context::meta).and_then(Object::parse).filter(|it| meta::has_more(*it));
        let object = match passed_on {
            Some(_) => self.write(passed_on, cx, declared, token),
            None if self.revision.is_modern() => return self.put_kept(params, cx, declared, token),
            None => token.and_then(|_| self.write(None, cx, declared, token)),
        };
        if let Some(object) = object {
            open(&mut params, object.len());
            params.extend_from_slice(object.as_bytes());
            params.push(b'}');
        }
        params
    }

    fn put_kept(
        &self,
        mut params: Vec<u8>,
        cx: Option<&Context>,
        declared: &str,
        token: Option<u64>,
    ) -> Vec<u8> {
        let object = self.kept(cx, declared);
        open(&mut params, object.len() + 40);
        let object = object.strip_suffix('}').unwrap_or(&object);
        params.extend_from_slice(object.as_bytes());
        if let Some(token) = token {
            write!(params, ",\"{PROGRESS_TOKEN}\":{token}").expect("writing to memory cannot fail");
        }
        params.push(b'}');
        params.push(b'}');
        params
    }

    /// What is said of the client of `cx`, which can do what is `declared`.
    fn kept(&self, cx: Option<&Context>, declared: &str) -> Arc<str> {
        let client = cx.map(|cx| &cx.client);
        let info = client.and_then(|client| client.info.as_deref());
        let level = cx.and_then(log_level);
        let mut last = self.last.lock().expect("nothing panics while it holds the lock");
        let same = last.as_ref().filter(|kept| {
            *kept.capabilities == *declared && kept.info.as_deref() == info && kept.level == level
        });
        if let Some(kept) = same {
            return kept.text.clone();
        }
        let text: Arc<str> = self.write(None, cx, declared, None).unwrap_or_else(|| "{}".to_owned()).into();
        let (capabilities, info) = (declared.into(), info.map(Box::from));
        *last = Some(Kept { capabilities, info, level, text: text.clone() });
        text
    }

    fn write(
        &self,
        passed_on: Option<Object<'_>>,
        cx: Option<&Context>,
        declared: &str,
        token: Option<u64>,
    ) -> Option<String> {
        let client = cx.map(|cx| &cx.client);
        let info = client.and_then(|client| client.info.as_ref()).and_then(text);
        let token = token.map(|token| token.to_string());
        let object = OwnEnvelope {
            revision: self.revision,
            client: info.unwrap_or(&self.ourselves),
            capabilities: declared,
            log_level: cx.and_then(log_level),
            progress_token: token.as_deref(),
        };
        meta::write(passed_on, &object)
    }
}

/// Opens the member `_meta` at the end of `params`, which is then to be written and followed by a brace.
fn open(params: &mut Vec<u8>, bytes: usize) {
    while params.pop().is_some_and(|last| last != b'}') {}
    if params.is_empty() {
        params.push(b'{');
    }
    let is_empty = params.iter().all(|byte| byte.is_ascii_whitespace() || *byte == b'{');
    params.reserve(bytes + 16);
    params.extend_from_slice(if is_empty { b"\"_meta\":" } else { b",\"_meta\":" });
}

fn text(bytes: &Bytes) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_put_at_the_end_of_whatever_there_is() {
        let envelope = Envelope::new(Revision::MODERN, r#"{"name":"n"}"#.to_owned());
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"n"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
        for (params, expected) in [
            ("", format!("{{{meta}}}")),
            ("{}", format!("{{{meta}}}")),
            ("{ } ", format!("{{ {meta}}}")),
            (r#"{"a":{}} "#, format!(r#"{{"a":{{}},{meta}}}"#)),
        ] {
            let put = envelope.put(params.as_bytes().to_vec(), None, None, 7);
            assert_eq!(String::from_utf8(put).expect("UTF-8"), expected);
        }
        let legacy = Envelope::new(Revision::LATEST_LEGACY, "{}".to_owned());
        assert_eq!(legacy.put(b"{ }".to_vec(), None, None, 7), b"{ }");
    }
}

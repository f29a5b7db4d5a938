//! `Message`: what a browser says, in the DevTools protocol: the answer to a command, or an event.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::BrowserError;

/// One message.
#[derive(Debug)]
pub(crate) enum Message {
    /// What came of the command with this id.
    Answer { id: u64, result: Result<Box<RawValue>, String> },
    /// Something has happened.
    Event { method: String, session: Option<String>, params: Box<RawValue> },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    id: Option<u64>,
    method: Option<String>,
    session_id: Option<String>,
    params: Option<Box<RawValue>>,
    result: Option<Box<RawValue>>,
    error: Option<Fault>,
}

#[derive(Deserialize)]
struct Fault {
    message: String,
}

impl Message {
    /// # Errors
    /// It is none.
    pub(crate) fn parse(frame: &[u8]) -> Result<Message, BrowserError> {
        let unreadable = |_| BrowserError::Unreadable("a message is not one of the protocol");
        let envelope: Envelope = serde_json::from_slice(frame).map_err(unreadable)?;
        match envelope {
            Envelope { id: Some(id), error: Some(fault), .. } => {
                Ok(Message::Answer { id, result: Err(fault.message) })
            }
            Envelope { id: Some(id), result, .. } => {
                Ok(Message::Answer { id, result: Ok(result.unwrap_or_else(nothing)) })
            }
            Envelope { method: Some(method), session_id: session, params, .. } => {
                Ok(Message::Event { method, session, params: params.unwrap_or_else(nothing) })
            }
            Envelope { id: None, method: None, .. } => {
                Err(BrowserError::Unreadable("a message is neither answer nor event"))
            }
        }
    }
}

fn nothing() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).expect("it is JSON")
}

/// A command as the browser reads it, with its end.
pub(crate) fn command(id: u64, session: Option<&str>, method: &str, params: &Value) -> Vec<u8> {
    let mut command = serde_json::json!({ "id": id, "method": method, "params": params });
    if let Some(session) = session {
        command["sessionId"] = session.into();
    }
    let mut bytes = command.to_string().into_bytes();
    bytes.push(0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(frame: &str, expected: &str) {
        let read = Message::parse(frame.as_bytes()).map_or_else(
            |error| error.to_string(),
            |message| match message {
                Message::Answer { id, result } => {
                    format!("{id} {:?}", result.map(|raw| raw.get().to_owned()))
                }
                Message::Event { method, session, params } => {
                    format!("{method} {session:?} {}", params.get())
                }
            },
        );
        assert_eq!(read, expected, "{frame}");
    }

    #[test]
    fn answers_and_events_are_told_apart() {
        check(r#"{"id": 7, "result": {"a": 1}}"#, r#"7 Ok("{\"a\": 1}")"#);
        check(r#"{"id": 7, "sessionId": "s"}"#, r#"7 Ok("{}")"#);
        check(r#"{"id": 7, "error": {"code": -32000, "message": "no"}}"#, r#"7 Err("no")"#);
        check(
            r#"{"method": "Page.x", "params": {"b": 2}, "sessionId": "s"}"#,
            r#"Page.x Some("s") {"b": 2}"#,
        );
        check(r#"{"method": "Page.x"}"#, "Page.x None {}");
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let not_one = "the browser cannot be understood: a message is not one of the protocol";
        for garbage in ["", "x", "[]", "7", "{", "\u{7f}", r#"{"id": "7"}"#, r#"{"id": -1}"#] {
            check(garbage, not_one);
        }
        check("{}", "the browser cannot be understood: a message is neither answer nor event");
    }

    #[test]
    fn a_command_ends_with_a_nul() {
        let sent = command(3, Some("s"), "Page.enable", &serde_json::json!({ "text": "a\0b" }));
        let (last, text) = sent.split_last().expect("some");
        assert_eq!((*last, text.contains(&0)), (0, false));
        let sent: Value = serde_json::from_slice(text).expect("JSON");
        assert_eq!(
            sent,
            serde_json::json!({ "id": 3, "sessionId": "s", "method": "Page.enable", "params": { "text": "a\0b" } })
        );
    }
}

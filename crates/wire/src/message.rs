//! One frame: a JSON-RPC message, or a batch of them, with `params` and `result` kept as text.

use bytes::Bytes;
use bytestring::ByteString;

use crate::error::{Code, WireError};
use crate::id::Id;
use crate::object::{self, Object};
pub use crate::text::Text;
use crate::{BATCH_MESSAGES_MAX, scan, string};

/// A checked JSON text that came as one unit: a line on stdio, a body over HTTP, an event's data.
#[derive(Debug)]
pub enum Frame {
    /// One message.
    Single(Message),
    /// A JSON-RPC batch; each element is a message or the reason why it is none.
    Batch(Vec<Result<Message, Rejected>>),
}

/// A message that cannot be acted on, and the id to answer under if one could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The id to answer under; nothing means `null`.
    pub id: Option<Id>,
    /// What to answer.
    pub error: WireError,
}

/// One JSON-RPC message. The texts inside are slices of the frame.
#[derive(Debug, Clone)]
pub enum Message {
    /// Wants an answer.
    Request {
        /// Under which id to answer.
        id: Id,
        /// What is wanted.
        method: ByteString,
        /// The parameters' JSON text, if given: always an object.
        params: Option<Text>,
    },
    /// Wants none.
    Notification {
        /// What is told.
        method: ByteString,
        /// The parameters' JSON text, if given: always an object.
        params: Option<Text>,
    },
    /// An answer to a request of ours.
    Response {
        /// The id we gave; nothing for an error about a message whose id could not be read.
        id: Option<Id>,
        /// The result's or the error object's JSON text.
        answer: Result<Text, Text>,
    },
}

impl Frame {
    /// Checks and takes apart one frame.
    ///
    /// # Errors
    /// `ParseError` for what is not JSON, `InvalidRequest` for JSON that is no message.
    pub fn parse(bytes: Bytes) -> Result<Frame, Rejected> {
        let text = Text::check(bytes.clone())
            .map_err(|fault| Rejected { id: id_beside_twins(bytes, &fault), error: fault.into() })?;
        match object::elements(text.as_str()) {
            None => Message::parse(&text).map(Frame::Single),
            Some(elements) => {
                let messages: Vec<_> = elements
                    .take(BATCH_MESSAGES_MAX + 1)
                    .map(|element| Message::parse(&text.slice(element)))
                    .collect();
                match messages.len() {
                    0 => Err(invalid(None, "a batch must not be empty")),
                    1..=BATCH_MESSAGES_MAX => Ok(Frame::Batch(messages)),
                    _ => Err(invalid(None, &format!("a batch holds at most {BATCH_MESSAGES_MAX} messages"))),
                }
            }
        }
    }
}

/// The members of the envelope, as written.
#[derive(Default)]
struct Envelope<'t> {
    jsonrpc: Option<&'t str>,
    id: Option<&'t str>,
    method: Option<&'t str>,
    params: Option<&'t str>,
    result: Option<&'t str>,
    error: Option<&'t str>,
}

impl<'t> Envelope<'t> {
    fn read(object: Object<'t>) -> Envelope<'t> {
        let mut envelope = Envelope::default();
        for member in object.members() {
            let slot = match &*member.key() {
                "jsonrpc" => &mut envelope.jsonrpc,
                "id" => &mut envelope.id,
                "method" => &mut envelope.method,
                "params" => &mut envelope.params,
                "result" => &mut envelope.result,
                "error" => &mut envelope.error,
                _ => continue,
            };
            *slot = Some(member.value);
        }
        envelope
    }
}

impl Message {
    /// Takes apart one message that has been checked as JSON.
    pub fn parse(text: &Text) -> Result<Message, Rejected> {
        let Some(object) = text.object() else {
            return Err(invalid(None, "a message must be a JSON object"));
        };
        let envelope = Envelope::read(object);
        let id = match envelope.id {
            None => None,
            // A null id belongs to an error answer about an unreadable message, never to a request.
            Some("null") if envelope.method.is_none() => None,
            Some("null") => return Err(invalid(None, "the id of a request must not be null")),
            Some(written) => match Id::parse(text, written) {
                Some(id) => Some(id),
                None => return Err(invalid(None, "the id must be a string or an integer of sane length")),
            },
        };
        if !envelope.jsonrpc.is_some_and(|value| value.starts_with('"') && string::says(value, "2.0")) {
            // The id of an answer is one of ours; an error under it would read as the answer to a call of the sender.
            let id = id.filter(|_| envelope.method.is_some());
            return Err(invalid(id, "the member \"jsonrpc\" must be \"2.0\""));
        }
        match (envelope.method, envelope.result, envelope.error) {
            (Some(method), None, None) => request(text, id, method, envelope.params),
            (None, Some(result), None) => Ok(Message::Response { id, answer: Ok(text.slice(result)) }),
            (None, None, Some(error)) => Ok(Message::Response { id, answer: Err(text.slice(error)) }),
            (None, ..) => {
                Err(invalid(None, "a message has exactly one of \"method\", \"result\" and \"error\""))
            }
            _ => Err(invalid(id, "a message has exactly one of \"method\", \"result\" and \"error\"")),
        }
    }
}

/// The id of a request that is refused since some object in it has a key twice, if that is plain: whoever sent it would
/// wait for an answer under it.
fn id_beside_twins(bytes: Bytes, fault: &scan::Fault) -> Option<Id> {
    let scan::Fault::DuplicateKey(_) = fault else { return None };
    // Nothing else is wrong with the text, or the fault would be another one.
    let text = Text::known(bytes)?;
    let object = text.object()?;
    let mut ids = object.members().filter(|member| member.key() == "id");
    let (id, another) = (ids.next()?, ids.next());
    let is_request = object.members().any(|member| member.key() == "method");
    if another.is_some() || !is_request { None } else { Id::parse(&text, id.value) }
}

fn request(text: &Text, id: Option<Id>, method: &str, params: Option<&str>) -> Result<Message, Rejected> {
    let Some(method) = text.string(method) else {
        return Err(invalid(id, "the member \"method\" must be a string"));
    };
    let params = match params {
        None => None,
        Some(params) if params.starts_with('{') => Some(text.slice(params)),
        // A notification is never answered, so there is nobody to tell.
        Some(_) if id.is_none() => None,
        Some(_) => {
            let error = WireError::new(Code::InvalidParams, "Invalid params: \"params\" must be an object");
            return Err(Rejected { id, error });
        }
    };
    Ok(match id {
        Some(id) => Message::Request { id, method, params },
        None => Message::Notification { method, params },
    })
}

fn invalid(id: Option<Id>, why: &str) -> Rejected {
    Rejected { id, error: WireError::new(Code::InvalidRequest, format!("Invalid request: {why}")) }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn show(message: &Result<Message, Rejected>) -> String {
        match message {
            Ok(Message::Request { id, method, params }) => {
                format!("request {id} {method} {}", params.as_ref().map_or("-", Text::as_str))
            }
            Ok(Message::Notification { method, params }) => {
                format!("notification {method} {}", params.as_ref().map_or("-", Text::as_str))
            }
            Ok(Message::Response { id, answer }) => {
                let id = id.as_ref().map_or("null", Id::text);
                match answer {
                    Ok(result) => format!("result {id} {}", result.as_str()),
                    Err(error) => format!("error {id} {}", error.as_str()),
                }
            }
            Err(Rejected { id, error }) => {
                let id = id.as_ref().map_or("null", Id::text);
                format!("rejected {id} {} {}", error.code.number(), error.message)
            }
        }
    }

    #[track_caller]
    fn check(frame: &str, expected: Expect) {
        let shown = match Frame::parse(Bytes::copy_from_slice(frame.as_bytes())) {
            Ok(Frame::Single(message)) => show(&Ok(message)),
            Ok(Frame::Batch(messages)) => messages.iter().map(show).collect::<Vec<_>>().join(" | "),
            Err(rejected) => show(&Err(rejected)),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn takes_messages_apart_and_keeps_their_text() {
        check(
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{ "x":1.0 },"extra":[1]}"#,
            expect![[r#"request 7 tools/call { "x":1.0 }"#]],
        );
        check(
            r#"{"method":"a\u002fb","id":"\u0031","jsonrpc":"2.0"}"#,
            expect![[r#"request "\u0031" a/b -"#]],
        );
        check(r#"{"jsonrpc":"2.0","method":"n"}"#, expect!["notification n -"]);
        check(r#"{"jsonrpc":"2.0","method":"n","params":[1]}"#, expect!["notification n -"]);
        check(r#"{"jsonrpc":"2.0","id":-3,"result":null}"#, expect!["result -3 null"]);
        check(r#"{"jsonrpc":"2.0","id":null,"error":{"code":1}}"#, expect![[r#"error null {"code":1}"#]]);
        check(r#"{"jsonrpc":"2.0","error":{"code":1}}"#, expect![[r#"error null {"code":1}"#]]);
        check(
            r#"[{"jsonrpc":"2.0","id":1,"method":"a"}, 5]"#,
            expect!["request 1 a - | rejected null -32600 Invalid request: a message must be a JSON object"],
        );
    }

    #[test]
    fn rejects_with_the_code_that_fits() {
        check("nonsense", expect!["rejected null -32700 Parse error: not JSON at byte 0"]);
        check("", expect!["rejected null -32700 Parse error: the JSON text ends too early"]);
        check("[]", expect!["rejected null -32600 Invalid request: a batch must not be empty"]);
        check("42", expect!["rejected null -32600 Invalid request: a message must be a JSON object"]);
        check(
            r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            expect![[r#"rejected 1 -32600 Invalid request: the member "jsonrpc" must be "2.0""#]],
        );
        check(
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            expect!["rejected null -32600 Invalid request: the id of a request must not be null"],
        );
        check(
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            expect![
                "rejected null -32600 Invalid request: the id must be a string or an integer of sane length"
            ],
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
            expect![[r#"rejected 1 -32600 Invalid request: the member "method" must be a string"#]],
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#,
            expect![[r#"rejected 1 -32602 Invalid params: "params" must be an object"#]],
        );
        check(
            r#"{"jsonrpc":"2.0","id":1}"#,
            expect![[
                r#"rejected null -32600 Invalid request: a message has exactly one of "method", "result" and "error""#
            ]],
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
            expect![[r#"rejected null -32600 Invalid request: the member "id" occurs twice in one object"#]],
        );
        for (message, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1,"a":2}}"#, "7"),
            (r#"{"jsonrpc":"2.0","params":{"x":[{"a":1,"\u0061":2}]},"method":"m","id":"b"}"#, r#""b""#),
            (r#"{"jsonrpc":"2.0","id":7,"method":"m","method":"a","a":1}"#, "7"),
            (r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1,"a":2}"#, "null"),
            (r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1,"a":2}} x"#, "null"),
            (r#"{"jsonrpc":"2.0","id":7,"i\u0064":8,"method":"m","params":{"a":1,"a":2}}"#, "null"),
            (r#"{"jsonrpc":"2.0","id":[7],"method":"m","params":{"a":1,"a":2}}"#, "null"),
            // The id of an answer is one of ours.
            (r#"{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}"#, "null"),
            (r#"[{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1,"a":2}}]"#, "null"),
        ] {
            let rejected = Frame::parse(Bytes::from_static(message.as_bytes())).expect_err("it has twins");
            assert_eq!(rejected.id.as_ref().map_or("null", Id::text), id, "{message}");
        }
        check(
            &"[".repeat(100_000),
            expect!["rejected null -32600 Invalid request: nested deeper than 128 levels"],
        );
        check(
            &format!("[{}]", vec!["1"; 101].join(",")),
            expect!["rejected null -32600 Invalid request: a batch holds at most 100 messages"],
        );
    }
}

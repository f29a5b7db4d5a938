//! `Exchange`: the messages of one connection, both ways, without the bytes that carry them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use wire::message::Text;
use wire::{Code, Frame, Id, Message, WireError, write};

use super::pending::{Pending, Waiting};
use super::{Fault, Reply};

/// What both transports know of a connection.
#[derive(Debug)]
pub(crate) struct Exchange {
    upstream: Arc<str>,
    pending: Pending,
    changed: Notify,
    closed: CancellationToken,
    garbage: AtomicU64,
}

/// Where what the server wants to hear from us goes.
pub(crate) type Answers<'a> = &'a mut (dyn FnMut(Vec<u8>) + Send);

impl Exchange {
    pub(crate) fn new(upstream: Arc<str>) -> Exchange {
        Exchange {
            upstream,
            pending: Pending::default(),
            changed: Notify::new(),
            closed: CancellationToken::new(),
            garbage: AtomicU64::new(0),
        }
    }

    /// The upstream's name.
    pub(crate) fn name(&self) -> &str {
        &self.upstream
    }

    /// Opens a request.
    pub(crate) fn begin(&self, wants_progress: bool) -> Result<Waiting<'_>, Fault> {
        self.pending.begin(wants_progress)
    }

    /// Returns when the server has said that its tools changed since the last time.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Notes that the list of tools should be read again.
    pub(crate) fn note_change(&self) {
        self.changed.notify_one();
    }

    /// Set when the connection is over.
    pub(crate) fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// The connection is over: answers whoever still waits, and refuses further requests.
    pub(crate) fn close(&self, fault: &Fault) {
        self.pending.end(fault);
        self.closed.cancel();
    }

    /// What `close` was told first, once the connection is over.
    pub(crate) fn end_fault(&self) -> Option<Fault> {
        self.pending.ended()
    }

    /// Takes in one frame from the server.
    pub(crate) fn take_in(&self, frame: Bytes, answers: Answers<'_>) {
        match Frame::parse(frame.clone()) {
            Ok(Frame::Single(message)) => self.take(message, answers),
            // Only revision 2025-03-26 has batches, but there is no reason to be strict with a server.
            Ok(Frame::Batch(messages)) => {
                for message in messages {
                    match message {
                        Ok(message) => self.take(message, answers),
                        Err(rejected) => self.take_garbage(&rejected.error.message),
                    }
                }
            }
            Err(rejected) => self.take_rejected(&frame, &rejected.error),
        }
    }

    /// Takes in a message that was longer than we read.
    pub(crate) fn take_too_long(&self, bytes_max: usize) {
        let why = format!("it is longer than {bytes_max} bytes");
        // Whose answer it was can only be told if one request is open; others run into their timeouts.
        match self.pending.only() {
            Some(id) => drop(self.pending.answer(id, Err(Fault::Broken(why)))),
            None => self.take_garbage(&why),
        }
    }

    fn take(&self, message: Message, answers: Answers<'_>) {
        match message {
            Message::Response { id, answer } => self.take_response(id, answer),
            Message::Notification { method, params } => self.take_notification(&method, params),
            Message::Request { id, method, .. } => {
                let mut answer = Vec::with_capacity(64);
                if method == "ping" {
                    write::result(&mut answer, &id, b"{}");
                } else {
                    let why = format!("Method not found: {}", crate::listing::shown_name(&method));
                    write::error(&mut answer, Some(&id), &WireError::new(Code::MethodNotFound, why));
                }
                answers(answer);
            }
        }
    }

    fn take_response(&self, id: Option<Id>, answer: Reply) {
        let number = id.as_ref().and_then(Id::as_number);
        if !number.is_some_and(|number| self.pending.answer(number, Ok(answer))) {
            // Usual after a cancelled call.
            tracing::debug!(target: "upstream", upstream = %self.upstream, id = ?id, "an answer nobody waits for");
        }
    }

    fn take_notification(&self, method: &str, params: Option<Text>) {
        match (method, params) {
            ("notifications/progress", Some(params)) => {
                let token = params.object().and_then(|object| object.get("progressToken"));
                if let Some(token) = token.and_then(|token| token.parse().ok()) {
                    self.pending.report(token, params.bytes());
                }
            }
            ("notifications/tools/list_changed", _) => self.note_change(),
            _ => {
                tracing::debug!(target: "upstream", upstream = %self.upstream, "a notification of no concern")
            }
        }
    }

    /// A frame that is no message. If it was meant as an answer, the one who waits should know.
    fn take_rejected(&self, frame: &[u8], error: &WireError) {
        #[derive(Deserialize)]
        struct Intent {
            id: u64,
            method: Option<IgnoredAny>,
        }
        let intent = serde_json::from_slice::<Intent>(frame).ok().filter(|intent| intent.method.is_none());
        let fault = Fault::Broken(error.message.clone());
        if !intent.is_some_and(|intent| self.pending.answer(intent.id, Err(fault))) {
            self.take_garbage(&error.message);
        }
    }

    /// Says once that there is garbage, and counts the rest. Its text is not logged: it may hold anything.
    fn take_garbage(&self, why: &str) {
        let upstream = &self.upstream;
        let seen = self.garbage.fetch_add(1, Ordering::Relaxed) + 1;
        if seen == 1 {
            tracing::warn!(target: "upstream", %upstream, why, "skipped output that is no MCP message; more is only counted");
        } else {
            tracing::debug!(target: "upstream", %upstream, why, seen, "skipped output that is no MCP message");
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// Feeds `frames` to an exchange with two open requests, 1 with progress and 2 without.
    #[track_caller]
    fn check(frames: &[&str], expected: Expect) {
        let exchange = Exchange::new("it".into());
        let mut waiting = [exchange.begin(true).expect("open"), exchange.begin(false).expect("open")];
        let mut shown = Vec::new();
        for frame in frames {
            exchange.take_in(Bytes::copy_from_slice(frame.as_bytes()), &mut |answer| {
                shown.push(format!("sent {}", String::from_utf8(answer).expect("UTF-8")));
            });
        }
        for waiting in &mut waiting {
            let id = waiting.id();
            let reports = std::sync::Mutex::new(Vec::new());
            let answer = waiting.answer_now(&|report| reports.lock().unwrap().push(report));
            shown.extend(
                reports.into_inner().unwrap().iter().map(|report| format!("{id} reported {report:?}")),
            );
            shown.extend(answer.map(|answer| match answer {
                Ok(Ok(result)) => format!("{id} result {}", result.as_str()),
                Ok(Err(error)) => format!("{id} error {}", error.as_str()),
                Err(fault) => format!("{id} fault {fault}"),
            }));
        }
        shown.push(format!("garbage {}", exchange.garbage.load(Ordering::Relaxed)));
        expected.assert_eq(&shown.join("\n"));
    }

    #[test]
    fn answers_and_reports_find_their_requests() {
        check(
            &[
                r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":3}}"#,
                r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9,"progress":3}}"#,
                r#"{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"no"}}"#,
                r#"{"jsonrpc":"2.0","id":1,"result":{"a": 1.0}}"#,
                r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
            ],
            expect![[r#"
                1 reported b"{\"progressToken\":1,\"progress\":3}"
                1 result {"a": 1.0}
                2 error {"code":1,"message":"no"}
                garbage 0"#]],
        );
    }

    #[test]
    fn a_batch_is_taken_apart() {
        check(
            &[r#"[{"jsonrpc":"2.0","id":1,"result":{}},5,{"jsonrpc":"2.0","id":2,"result":{}}]"#],
            expect![[r#"
                1 result {}
                2 result {}
                garbage 1"#]],
        );
    }

    #[test]
    fn requests_of_the_server_are_answered() {
        check(
            &[
                r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#,
                r#"{"jsonrpc":"2.0","id":0,"method":"roots/list"}"#,
                r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}"#,
            ],
            expect![[r#"
                sent {"jsonrpc":"2.0","id":"p","result":{}}
                sent {"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"Method not found: roots/list"}}
                garbage 0"#]],
        );
    }

    #[test]
    fn garbage_is_counted_and_a_broken_answer_reaches_its_request() {
        check(
            &[
                "Server listening on port 3000",
                "{\"id\":1}x",
                // A broken request of the server's own has nothing to do with ours of the same number.
                r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#,
                r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#,
                r#"{"id":2,"result":{}}"#,
            ],
            expect![[r#"
                1 fault Invalid request: the member "a" occurs twice in one object
                2 fault Invalid request: the member "jsonrpc" must be "2.0"
                garbage 3"#]],
        );
    }

    #[test]
    fn one_open_request_is_told_that_its_answer_was_too_long() {
        let exchange = Exchange::new("it".into());
        let mut waiting = exchange.begin(false).expect("open");
        exchange.take_too_long(10);
        let fault = Fault::Broken("it is longer than 10 bytes".to_owned());
        assert_eq!(waiting.answer_now(&|_| {}), Some(Err(fault)));
    }
}

//! `Exchange`: the messages of one connection, both ways, without the bytes that carry them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context as Task, Poll};

use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;
use wire::message::Text;
use wire::subscriptions::{ACKNOWLEDGED, WATCHED_BYTES_MAX, subscription_of};
use wire::{Code, Frame, Id, LogLevel, Message, WireError, write};

use super::asked::{self, Question};
use super::caller::Caller;
use super::notice::{Notice, Notices};
use super::pending::{Happening, Next, Pending, Reply, Turn, Via};
use crate::fault::Fault;
use crate::kind::Kind;
use crate::settings::Mask;
use crate::trace::Tap;

/// Elicitations at addresses whose completion may still be told; older ones are forgotten.
const ELICITATIONS_MAX: usize = 1_000;

/// Largest notification under a method that we do not know that is passed on, in bytes.
const FOREIGN_BYTES_MAX: usize = 16 * 1024;

/// Notifications of the protocol that servers do not send, or that mean nothing to our clients.
const OF_THE_PROTOCOL: [&str; 3] =
    ["notifications/initialized", "notifications/roots/list_changed", "notifications/tasks/status"];

/// What all transports know of a connection.
pub(crate) struct Exchange {
    /// The upstream's name.
    pub(crate) upstream: Arc<str>,
    /// The open requests.
    pub(crate) pending: Pending,
    /// What the server tells about no call in particular.
    pub(crate) notices: Notices,
    /// True once the server is known to be a modern one.
    modern: AtomicBool,
    elicitations: Mutex<VecDeque<Elicitation>>,
    garbage: AtomicU64,
    /// Hears everything, if somebody wants to know.
    pub(super) tap: Option<Arc<Tap>>,
    /// What is masked in words of the server.
    pub(crate) mask: Mask,
}

/// An elicitation at an address that a client was asked for.
struct Elicitation {
    /// What the server calls it.
    id: String,
    conversation: u64,
    /// What it is called here.
    key: String,
}

/// Where what the server wants to hear from us goes.
pub(crate) type Answers<'a> = &'a mut (dyn FnMut(Vec<u8>) + Send);

impl Exchange {
    /// `mask` hides what nobody else should read in errors of the server; `tap` hears everything.
    pub(crate) fn new(upstream: Arc<str>, mask: &Mask, tap: Option<Arc<Tap>>) -> Arc<Exchange> {
        Arc::new(Exchange {
            upstream,
            pending: Pending::default(),
            notices: Notices::default(),
            modern: AtomicBool::new(false),
            elicitations: Mutex::default(),
            garbage: AtomicU64::new(0),
            tap,
            mask: mask.clone(),
        })
    }

    /// Opens a request; nothing as `caller` means that it is ours.
    pub(crate) fn begin(self: &Arc<Self>, caller: Option<Caller>) -> Result<Waiting, Fault> {
        let id = self.pending.open(caller)?;
        Ok(self.waiting(id))
    }

    /// The same for a call, if no question can be taken for that of another conversation.
    pub(crate) fn enter(self: &Arc<Self>, caller: &Caller) -> Result<Turn<Waiting>, Fault> {
        Ok(match self.pending.enter(caller)? {
            Turn::Taken(id) => Turn::Taken(self.waiting(id)),
            Turn::Blocked(blocked) => Turn::Blocked(blocked),
        })
    }

    /// Opens a request for the result of `task`, which hears what the task asks.
    pub(super) fn begin_for_task(
        self: &Arc<Self>,
        caller: Caller,
        task: &Arc<str>,
    ) -> Result<Waiting, Fault> {
        let id = self.pending.open_for_task(caller, task)?;
        Ok(self.waiting(id))
    }

    /// Keeps what `task` asks, until the claim is dropped, for whoever waits for its result.
    pub(crate) fn claim_task(self: &Arc<Self>, task: Arc<str>) -> TaskClaim {
        self.pending.claim_task(&task);
        TaskClaim { exchange: self.clone(), task }
    }

    fn waiting(self: &Arc<Self>, id: u64) -> Waiting {
        Waiting { exchange: self.clone(), id, is_sent: false }
    }

    /// Hands over the answer to a request; false if nobody waits for it. Errors are masked here, before anybody cleans or
    /// cuts them.
    pub(super) fn answer(&self, id: u64, answer: Result<Reply, Fault>) -> bool {
        self.pending.answer(id, answer.map(|reply| reply.map_err(|error| self.mask.value(error))))
    }

    /// The server speaks the revision without handshake.
    pub(crate) fn set_modern(&self) {
        self.modern.store(true, Ordering::Relaxed);
    }

    /// A client of `conversation` is asked under `key` for the elicitation that the server calls `id`.
    pub(super) fn note_elicitation(&self, id: String, conversation: u64, key: String) {
        if id.len() > WATCHED_BYTES_MAX {
            return;
        }
        let mut elicitations = self.elicitations();
        if elicitations.len() == ELICITATIONS_MAX {
            elicitations.pop_front();
        }
        elicitations.push_back(Elicitation { id, conversation, key });
    }

    fn elicitations(&self) -> MutexGuard<'_, VecDeque<Elicitation>> {
        self.elicitations.lock().expect("nothing panics while it holds the lock")
    }

    /// Takes in one frame from the server.
    pub(crate) fn take_in(&self, frame: Bytes, via: Via, answers: Answers<'_>) {
        if let Some(tap) = &self.tap {
            tap.received(&frame);
        }
        match Frame::parse(frame.clone()) {
            Ok(Frame::Single(message)) => self.take(message, via, answers),
            // Only revision 2025-03-26 has batches, but there is no reason to be strict with a server.
            Ok(Frame::Batch(messages)) => {
                for message in messages {
                    match message {
                        Ok(message) => self.take(message, via, answers),
                        Err(rejected) => self.take_garbage(&rejected.error.message),
                    }
                }
            }
            Err(rejected) => self.take_rejected(&frame, &rejected.error),
        }
        self.refusals().for_each(answers);
    }

    /// What the server is to be told of questions that nobody can be asked any more.
    pub(super) fn refusals(&self) -> impl Iterator<Item = Vec<u8>> + use<> {
        self.pending.take_refused().into_iter().map(|(id, error)| {
            let mut message = Vec::with_capacity(128);
            write::error(&mut message, Some(&id), &error);
            message
        })
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

    fn take(&self, message: Message, via: Via, answers: Answers<'_>) {
        match message {
            Message::Response { id, answer } => self.take_response(id, answer),
            Message::Notification { method, params } => self.take_notification(&method, params, via),
            Message::Request { id, method, params } => {
                let mut answer = Vec::with_capacity(64);
                if method == "ping" && !self.modern.load(Ordering::Relaxed) {
                    write::result(&mut answer, &id, b"{}");
                } else {
                    match self.take_request(&id, &method, params, via) {
                        // The client answers it, later.
                        Ok(()) => return,
                        Err(error) => write::error(&mut answer, Some(&id), &error),
                    }
                }
                answers(answer);
            }
        }
    }

    /// Hands a request of the server to the call that it belongs to.
    fn take_request(&self, id: &Id, method: &str, params: Option<Text>, via: Via) -> Result<(), WireError> {
        let shown = self.mask.shown_name(method);
        if self.modern.load(Ordering::Relaxed) {
            tracing::warn!(target: "upstream", upstream = %self.upstream, method = shown, "refused a request of the server: its revision has none");
            return Err(WireError::new(Code::InvalidRequest, "servers of this revision send no requests"));
        }
        let unknown = || WireError::new(Code::MethodNotFound, format!("Method not found: {shown}"));
        let kind = asked::Kind::of(method).ok_or_else(unknown)?;
        self.pending.ask(via, Question { id: id.clone(), kind, params, of: None })
    }

    /// We attributed the question to the wrong call, which has since been answered. It belongs to the client's newest
    /// other call that can have asked it. False if there is none.
    pub(super) fn ask_another(&self, question: &Question) -> bool {
        let call = self.other_asker(question);
        call.is_some_and(|call| self.pending.happened(call, Happening::Asked(question.clone())))
    }

    /// The client's newest call that can have asked this.
    pub(super) fn other_asker(&self, question: &Question) -> Option<u64> {
        let may_be_meant = |caller: &Caller| {
            question.of.is_some_and(|conversation| conversation != 0 && conversation == caller.conversation)
                && question.lacks(&caller.capabilities).is_none()
        };
        let call = self.pending.attribute(Via::Shared, |caller| caller.may_be_asked, may_be_meant);
        call.ok().map(|(call, _)| call)
    }

    fn take_response(&self, id: Option<Id>, answer: Reply) {
        let number = id.as_ref().and_then(Id::as_number);
        if !number.is_some_and(|number| self.answer(number, Ok(answer))) {
            // Usual after a cancelled call.
            tracing::debug!(target: "upstream", upstream = %self.upstream, id = ?id, "an answer nobody waits for");
        }
    }

    fn take_notification(&self, method: &str, params: Option<Text>, via: Via) {
        // What belongs to a subscription that has ended is of no interest any more.
        let subscription = params.as_ref().and_then(subscription_of).and_then(|id| id.as_number());
        if subscription.is_some_and(|id| !self.pending.is_open(id)) {
            return;
        }
        let string = |key: &str| {
            let text = params.as_ref().and_then(Text::object)?.string(key)?;
            (text.len() <= WATCHED_BYTES_MAX).then(|| text.into_owned())
        };
        let notice = match method {
            "notifications/progress" | "notifications/message" | ACKNOWLEDGED | "notifications/cancelled" => {
                return self.take_of_request(method, params, subscription, via);
            }
            "notifications/tools/list_changed" => Some(Notice::ListChanged(Kind::Tools)),
            "notifications/prompts/list_changed" => Some(Notice::ListChanged(Kind::Prompts)),
            "notifications/resources/list_changed" => Some(Notice::ListChanged(Kind::Resources)),
            "notifications/resources/updated" => string("uri").map(Notice::ResourceUpdated),
            "notifications/tasks" => string("taskId")
                .zip(params.as_ref().map(Text::bytes))
                .map(|(id, params)| Notice::Task { id, params }),
            "notifications/elicitation/complete" => {
                string("elicitationId").and_then(|id| self.completed(&id))
            }
            _ => foreign(method, params.as_ref(), via),
        };
        if !notice.is_some_and(|notice| self.notices.hear(notice)) {
            tracing::debug!(target: "upstream", upstream = %self.upstream, "a notification of no concern");
        }
    }

    /// Takes in a notification about one request of ours.
    fn take_of_request(&self, method: &str, params: Option<Text>, subscription: Option<u64>, via: Via) {
        let Some(params) = params else { return };
        let object = params.object();
        let number = |key: &str| object.and_then(|object| object.get(key)).and_then(|id| id.parse().ok());
        match method {
            "notifications/progress" => {
                if let Some(id) = number("progressToken") {
                    self.pending.progress(id, params.bytes());
                }
            }
            "notifications/message" => {
                let level = object.and_then(|object| object.string("level"));
                let Some(level) = level.and_then(|level| LogLevel::parse(&level)) else { return };
                let wants = |caller: &Caller| caller.log_level.is_some_and(|wanted| level >= wanted);
                if let Ok((_, Caller { listener: Some(listener), .. })) =
                    self.pending.attribute(via, |_| true, wants)
                {
                    listener.log(params.bytes());
                }
            }
            ACKNOWLEDGED => {
                if let Some(id) = subscription {
                    self.pending.happened(id, Happening::Acknowledged(params.clone()));
                }
            }
            // A question that a legacy server takes back is answered all the same, which it lets pass.
            _ if !self.modern.load(Ordering::Relaxed) => {}
            _ => {
                // A modern server ends a subscription so.
                if let Some(id) = number("requestId") {
                    self.pending.answer(id, Err(Fault::Gone("ended the subscription".to_owned())));
                }
            }
        }
    }

    /// What becomes of the news that the elicitation which the server calls `id` is done.
    fn completed(&self, id: &str) -> Option<Notice> {
        let mut elicitations = self.elicitations();
        let at = elicitations.iter().position(|one| one.id == id)?;
        let Elicitation { conversation, key, .. } = elicitations.remove(at)?;
        Some(Notice::ElicitationComplete { conversation, key })
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

/// Something under a method that the protocol does not have, to be passed on. What comes in answer to one call is that
/// client's affair, and nobody else's.
fn foreign(method: &str, params: Option<&Text>, via: Via) -> Option<Notice> {
    let bytes = method.len() + params.map_or(0, |params| params.as_str().len());
    let is_passed_on = via == Via::Shared && bytes <= FOREIGN_BYTES_MAX && !OF_THE_PROTOCOL.contains(&method);
    is_passed_on.then(|| Notice::Foreign { method: method.to_owned(), params: params.map(Text::bytes) })
}

/// That somebody follows a task of 2025-11-25. What it still asks when this is dropped is refused with the next message:
/// it has ended, or nobody wants it any more.
pub(crate) struct TaskClaim {
    exchange: Arc<Exchange>,
    /// The server's own id of it.
    pub(crate) task: Arc<str>,
}

impl Drop for TaskClaim {
    fn drop(&mut self) {
        self.exchange.pending.disclaim_task(&self.task);
    }
}

/// One open request. Dropping it forgets the request.
pub(crate) struct Waiting {
    pub(super) exchange: Arc<Exchange>,
    pub(super) id: u64,
    /// False until the server may have seen it.
    pub(super) is_sent: bool,
}

impl Waiting {
    /// What comes next, if it is there already.
    pub(crate) fn poll(&mut self, task: &mut Task<'_>) -> Poll<Next> {
        self.exchange.pending.poll(self.id, task)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.exchange.pending.forget(self.id, self.is_sent);
    }
}

#[cfg(test)]
impl Exchange {
    /// One that nobody hears, with a server that has no secrets.
    pub(crate) fn untraced() -> Arc<Exchange> {
        Exchange::new("it".into(), &Mask::default(), None)
    }
}

#[cfg(test)]
mod tests;

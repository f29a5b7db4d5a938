//! `Exchange`: the messages of one connection, both ways, without the bytes that carry them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio_util::sync::CancellationToken;
use wire::message::Text;
use wire::subscriptions::{ACKNOWLEDGED, WATCHED_BYTES_MAX, subscription_of};
use wire::{Code, Frame, Id, LogLevel, Message, WireError, write};

use super::asked::{Kind, Question};
use super::caller::Caller;
use super::notice::{Notice, Notices};
use super::pending::{Happening, Nobody, Pending, Reply};
use super::via::Via;
use crate::fault::Fault;
use crate::settings::Mask;
use crate::trace::Tap;

/// Elicitations at addresses whose completion may still be told; older ones are forgotten.
const ELICITATIONS_MAX: usize = 1_000;

/// What all transports know of a connection.
#[derive(Debug)]
pub(crate) struct Exchange {
    upstream: Arc<str>,
    pending: Pending,
    notices: Notices,
    /// True once the server is known to be a modern one.
    modern: AtomicBool,
    elicitations: Mutex<VecDeque<Elicitation>>,
    /// The calls that wait for their clients; nothing until the server has been met.
    suspended: OnceLock<Weak<dyn MakesWay>>,
    closed: CancellationToken,
    /// How it is meant to be over, or came to its end.
    parting: AtomicU8,
    garbage: AtomicU64,
    /// Hears everything, if somebody wants to know.
    tap: Option<Arc<Tap>>,
    /// What nobody else should read.
    mask: Mask,
}

/// Calls that wait for their clients, and may keep others from being asked.
pub(super) trait MakesWay: Send + Sync {
    /// Gives up the calls of clients that nobody has seen for a while.
    fn give_up_old(&self);
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Parting {
    /// The server went away, or became of no use.
    ByItself,
    /// It is a program that exited with code 0.
    Well,
    /// We ended it.
    Dismissed,
}

/// An elicitation at an address that a client was asked for.
#[derive(Debug)]
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
    pub(crate) fn new(upstream: Arc<str>) -> Exchange {
        Exchange {
            upstream,
            pending: Pending::default(),
            notices: Notices::default(),
            modern: AtomicBool::new(false),
            elicitations: Mutex::default(),
            suspended: OnceLock::new(),
            closed: CancellationToken::new(),
            parting: AtomicU8::new(Parting::ByItself as u8),
            garbage: AtomicU64::new(0),
            tap: None,
            mask: Mask::default(),
        }
    }

    /// The same, masking what nobody else should read in errors of the server.
    pub(super) fn masking(self, mask: &Mask) -> Exchange {
        Exchange { mask: mask.clone(), ..self }
    }

    /// What is masked in words of the server.
    pub(crate) fn mask(&self) -> &Mask {
        &self.mask
    }

    /// The same, telling `tap` what is said.
    pub(super) fn traced(self, tap: Option<Arc<Tap>>) -> Exchange {
        Exchange { tap, ..self }
    }

    /// Who is told what is said.
    pub(super) fn tap(&self) -> Option<&Arc<Tap>> {
        self.tap.as_ref()
    }

    /// These calls of the connection wait for their clients. Called once.
    pub(super) fn make_way_by(&self, suspended: Weak<dyn MakesWay>) {
        self.suspended.get_or_init(|| suspended);
    }

    /// The upstream's name.
    pub(crate) fn name(&self) -> &str {
        &self.upstream
    }

    /// The open requests.
    pub(super) fn pending(&self) -> &Pending {
        &self.pending
    }

    /// Hands over the answer to a request; false if nobody waits for it. Errors are masked here, before anybody cleans or
    /// cuts them.
    pub(super) fn answer(&self, id: u64, answer: Result<Reply, Fault>) -> bool {
        self.pending.answer(id, answer.map(|reply| reply.map_err(|error| self.mask.value(error))))
    }

    /// True while a request waits for its answer.
    pub(super) fn is_open(&self, id: u64) -> bool {
        self.pending.is_open(id)
    }

    /// What the server tells about no call in particular.
    pub(crate) fn notices(&self) -> &Notices {
        &self.notices
    }

    /// Keeps what the server tells, or what is as good as told; false if there is no room for it.
    pub(crate) fn hear(&self, heard: Notice) -> bool {
        self.notices.hear(heard)
    }

    /// The server speaks the revision without handshake.
    pub(crate) fn set_modern(&self) {
        self.modern.store(true, Ordering::Relaxed);
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

    /// The connection is over, but not yet for those who wait: refuses further requests, and nothing else.
    pub(super) fn retire(&self, fault: &Fault) {
        self.pending.refuse(fault);
        self.closed.cancel();
    }

    /// How many calls there have been, if none is under way.
    pub(crate) fn idle_after(&self) -> Option<u64> {
        self.pending.idle_after()
    }

    /// Ends the connection, which is not used, if there has been no call after the first `calls`: whoever comes now
    /// is told that nothing was sent. False if there has been one, or is.
    pub(crate) fn rest(&self, calls: u64) -> bool {
        let is_idle = self.pending.rest(calls, &Fault::Gone("was stopped, since nobody used it".to_owned()));
        if is_idle {
            self.part(Parting::Dismissed);
            self.closed.cancel();
        }
        is_idle
    }

    /// Says how the connection is about to end.
    pub(crate) fn part(&self, parting: Parting) {
        self.parting.store(parting as u8, Ordering::Relaxed);
    }

    /// How the connection ended.
    pub(crate) fn parting(&self) -> Parting {
        let said = self.parting.load(Ordering::Relaxed);
        let all = [Parting::ByItself, Parting::Well, Parting::Dismissed];
        all.into_iter().find(|parting| *parting as u8 == said).unwrap_or(Parting::ByItself)
    }

    /// What `close` or `retire` was told first, once the connection is over.
    pub(crate) fn end_fault(&self) -> Option<Fault> {
        self.pending.ended()
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
        let kind = Kind::of(method).ok_or_else(unknown)?;
        let (call, caller) =
            self.pending.attribute(via, |caller| caller.may_be_asked).map_err(|why| match why {
                Nobody::NoCall => unknown(),
                Nobody::SeveralClients => {
                    // So that it is not in the way the next time.
                    self.suspended.get().and_then(Weak::upgrade).inspect(|calls| calls.give_up_old());
                    let why = "calls of several clients are under way, or were until a moment ago, and nothing says \
                               which of them is asked; call again later";
                    WireError::new(Code::InternalError, why)
                }
            })?;
        let of = (via == Via::Shared).then_some(caller.conversation);
        let question = Question { id: id.clone(), kind, params, of };
        if let Some(required) = question.lacks(&caller.capabilities) {
            // Servers ask for roots on their own account as soon as they are connected, whatever call is under
            // way; no call depends on the answer then.
            let is_unrelated = via == Via::Shared && question.kind == Kind::Roots;
            if !is_unrelated {
                self.pending.happened(call, Happening::Lacking(required.to_owned()));
            }
            let why = format!("Method not found: {shown}; the client of this call has not declared it");
            return Err(WireError::new(Code::MethodNotFound, why));
        }
        if !self.pending.happened(call, Happening::Asked(question)) {
            return Err(WireError::new(Code::InternalError, "too many requests wait for the client"));
        }
        Ok(())
    }

    /// The server answered the call that was taken for the one which asks, and so it was another: the newest before
    /// it, of the same client. False if there is none.
    pub(super) fn ask_another(&self, mut call: u64, question: &Question) -> bool {
        let Some(conversation) = question.of else { return false };
        let meant = |caller: &Caller| caller.may_be_asked && question.lacks(&caller.capabilities).is_none();
        while let Some(older) = self.pending.older(call, conversation, meant) {
            if self.pending.happened(older, Happening::Asked(question.clone())) {
                return true;
            }
            call = older;
        }
        false
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
            let said = params.as_ref().and_then(Text::object)?.string(key)?;
            (said.len() <= WATCHED_BYTES_MAX).then(|| said.into_owned())
        };
        let heard = match method {
            "notifications/progress" | "notifications/message" | ACKNOWLEDGED | "notifications/cancelled" => {
                return self.take_of_request(method, params, subscription, via);
            }
            "notifications/tools/list_changed" => Some(Notice::ToolsChanged),
            "notifications/prompts/list_changed" => Some(Notice::PromptsChanged),
            "notifications/resources/list_changed" => Some(Notice::ResourcesChanged),
            "notifications/resources/updated" => string("uri").map(Notice::ResourceUpdated),
            "notifications/tasks" => string("taskId")
                .zip(params.as_ref().map(Text::bytes))
                .map(|(id, params)| Notice::Task { id, params }),
            "notifications/elicitation/complete" => {
                string("elicitationId").and_then(|id| self.completed(&id))
            }
            _ => None,
        };
        if !heard.is_some_and(|heard| self.hear(heard)) {
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
                    self.pending.happened(id, Happening::Progress(params.bytes()));
                }
            }
            "notifications/message" => {
                let level = object.and_then(|object| object.string("level"));
                let Some(level) = level.and_then(|level| LogLevel::parse(&level)) else { return };
                let wants = |caller: &Caller| caller.log_level.is_some_and(|wanted| level >= wanted);
                if let Ok((call, _)) = self.pending.attribute(via, wants) {
                    self.pending.happened(call, Happening::Log(params.bytes()));
                }
            }
            ACKNOWLEDGED => {
                if let Some(id) = subscription {
                    self.pending.happened(id, Happening::Acknowledged(params.clone()));
                }
            }
            _ if !self.modern.load(Ordering::Relaxed) => {
                let id = object.and_then(|object| object.get("requestId"));
                if let Some(id) = id.and_then(|id| Id::parse(&params, id)) {
                    self.pending.withdraw(&id);
                }
            }
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
        let at = elicitations.iter().position(|it| it.id == id)?;
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

#[cfg(test)]
mod tests;

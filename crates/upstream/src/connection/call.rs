//! `Call`: one request under way, whatever carries it, and what its client is asked meanwhile. It may outlive the
//! task that began it.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::{Context as Task, Poll, Waker};

use tokio::task::JoinHandle;
use wire::{Code, WireError, write};

use super::asked::Question;
use super::exchange::Waiting;
use super::pending::{Happening, Next, Reply};
use super::request::{Request, Work};
use super::transport::Transport;
use crate::fault::Fault;
use crate::slots::CallSlot;

/// A request that has been sent. Dropping it before its answer gives it up, and tells the server so, also that nobody
/// answers what it has asked.
pub(super) struct Call {
    transport: Arc<Transport>,
    pub(super) waiting: Waiting,
    /// Held while the server is busy with it, but not while its client is asked.
    slot: CallSlot,
    driver: Driver,
    modern: bool,
    /// True if the server is to be told when nobody waits any more.
    pub(super) cancels: bool,
    is_over: bool,
    /// What its client is asked, by key, and has not answered.
    pub(super) open: Vec<(String, Question)>,
}

/// What brings the answer.
enum Driver {
    /// The transport itself.
    Nobody,
    /// Work that has to be polled by who waits.
    Work(Work),
    /// The same in a task of its own.
    Task(JoinHandle<Result<(), Fault>>),
}

impl Call {
    /// Sends what `fill` makes of the number of a request that was opened.
    pub(super) fn send(
        transport: &Arc<Transport>,
        mut waiting: Waiting,
        fill: impl FnOnce(&Transport, u64) -> Result<Option<Work>, Fault>,
        modern: bool,
        slot: CallSlot,
    ) -> Result<Call, Fault> {
        let driver = fill(transport, waiting.id)?.map_or(Driver::Nobody, Driver::Work);
        waiting.is_sent = true;
        let (transport, open) = (transport.clone(), Vec::new());
        Ok(Call { transport, waiting, slot, driver, modern, cancels: true, is_over: false, open })
    }

    /// Sends a request of ours.
    pub(super) fn ask(
        transport: &Arc<Transport>,
        method: &'static str,
        params: &[u8],
        modern: bool,
    ) -> Result<Call, Fault> {
        let fill = |transport: &Transport, id: u64| {
            transport.send(id, modern, &Request { method, params: params.to_vec(), ..Request::default() })
        };
        let waiting = transport.exchange.begin(None)?;
        let mut call = Call::send(transport, waiting, fill, modern, CallSlot::default())?;
        call.cancels = false;
        Ok(call)
    }

    /// Tells the server when nobody waits any more, though the request is ours.
    pub(super) fn cancelling(mut self) -> Call {
        self.cancels = true;
        self
    }

    /// Lets the answer come though nobody waits for it just now. Reports are dropped, and its slot is another's.
    pub(super) fn suspend(&mut self) {
        self.slot = CallSlot::default();
        self.waiting.exchange.pending.suspend(self.waiting.id);
        if let Driver::Work(work) = std::mem::replace(&mut self.driver, Driver::Nobody) {
            // Owned by this call, which aborts it when it is dropped.
            self.driver = Driver::Task(tokio::spawn(work));
        }
    }

    /// Puts a question to its client, who is of `conversation`.
    pub(super) fn add(&mut self, question: Question, conversation: u64) {
        let key = question.kind.mint_key();
        if let Some(id) = question.elicitation_id() {
            self.waiting.exchange.note_elicitation(id, conversation, key.clone());
        }
        self.open.push((key, question));
    }

    /// Tells the server what the client answers to the questions whose keys `answer` knows.
    pub(super) fn answer_questions<'a>(&mut self, answer: impl Fn(&str) -> Option<&'a str>) {
        self.open.retain(|(key, question)| {
            let Some(answer) = answer(key) else { return true };
            let mut message = Vec::with_capacity(answer.len() + 64);
            write::result(&mut message, &question.id, answer.as_bytes());
            self.transport.tell(message);
            false
        });
    }

    /// Takes in what came while nobody waited. Returns the answer if it has come; then only what another call may have
    /// asked is still open.
    pub(super) fn catch_up(&mut self, conversation: u64) -> Result<Option<Reply>, Fault> {
        while let Poll::Ready(next) = self.waiting.poll(&mut Task::from_waker(Waker::noop())) {
            match next {
                Next::Happened(Happening::Asked(question)) => self.add(question, conversation),
                Next::Happened(Happening::Lacking(required)) => return Err(Fault::Lacking(required)),
                Next::Happened(Happening::Acknowledged(_)) => {}
                Next::Answered(reply) => {
                    self.is_over = true;
                    self.open.retain(|(_, question)| question.of.is_some());
                    return reply.map(Some);
                }
            }
        }
        Ok(None)
    }

    /// Waits for what comes next.
    pub(super) async fn next(&mut self) -> Next {
        poll_fn(|task| self.poll(task)).await
    }

    /// Waits for the answer, and lets pass what comes before.
    pub(super) async fn answer(mut self) -> Result<Reply, Fault> {
        loop {
            if let Next::Answered(answer) = self.next().await {
                return answer;
            }
        }
    }

    fn poll(&mut self, task: &mut Task<'_>) -> Poll<Next> {
        loop {
            let next = match self.waiting.poll(task) {
                Poll::Ready(next) => next,
                Poll::Pending => match self.driver.poll(task) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(())) => {
                        // The answer is there, or it was to a request that is no longer open.
                        self.driver = Driver::Nobody;
                        continue;
                    }
                    Poll::Ready(Err(fault)) => {
                        self.driver = Driver::Nobody;
                        match self.waiting.poll(task) {
                            Poll::Ready(next) => next,
                            Poll::Pending => Next::Answered(Err(fault)),
                        }
                    }
                },
            };
            self.is_over = matches!(next, Next::Answered(_));
            return Poll::Ready(next);
        }
    }

    /// True if no other call of its client can have asked what it seemed to ask.
    pub(super) fn alone_can_have_asked(&self) -> bool {
        let exchange = &self.waiting.exchange;
        self.open
            .iter()
            .all(|(_, question)| question.of.is_none() || exchange.other_asker(question).is_none())
    }

    /// Nobody answers the question any more, unless it belongs to another call after all.
    fn refuse(&self, question: &Question) {
        if self.is_over && (question.of.is_none() || self.waiting.exchange.ask_another(question)) {
            return;
        }
        let error = WireError::new(Code::InternalError, "the client did not answer");
        let mut message = Vec::with_capacity(128);
        write::error(&mut message, Some(&question.id), &error);
        self.transport.tell(message);
    }

    /// Tells the server that nobody waits any more.
    fn give_up(&mut self) {
        if let Driver::Task(running) = &self.driver
            && !self.is_over
        {
            running.abort();
        }
        // What was asked unheard is refused with the rest. A server that asked for too much is past caring.
        while !self.is_over && self.catch_up(0).is_err() {}
        self.open.iter().for_each(|(_, question)| self.refuse(question));
        let id = self.waiting.id;
        if self.is_over || !self.cancels || !self.waiting.exchange.pending.is_open(id) {
            return;
        }
        if self.modern && self.transport.is_streamable_http() {
            return;
        }
        let params = format!("{{\"requestId\":{id},\"reason\":\"nobody waits for the answer any more\"}}");
        let mut message = Vec::with_capacity(params.len() + 80);
        write::notification(&mut message, "notifications/cancelled", Some(params.as_bytes()));
        self.transport.tell(message);
    }
}

impl Driver {
    fn poll(&mut self, task: &mut Task<'_>) -> Poll<Result<(), Fault>> {
        match self {
            Driver::Nobody => Poll::Pending,
            Driver::Work(work) => work.as_mut().poll(task),
            Driver::Task(running) => std::pin::Pin::new(running).poll(task).map(|ended| {
                // It panicked; the request is lost with it.
                ended.unwrap_or_else(|_| Err(Fault::Gone("got lost".to_owned())))
            }),
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.give_up();
        // What waited to be known as its question is nobody's now.
        let exchange = &self.waiting.exchange;
        exchange.pending.forget(self.waiting.id, self.waiting.is_sent);
        exchange.refusals().for_each(|refusal| self.transport.tell(refusal));
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::FutureExt;

    use super::super::caller::Caller;
    use super::*;
    use crate::slots::CallSlots;

    #[tokio::test]
    async fn a_call_that_can_have_no_answer_gives_its_slot_back_at_once() {
        let (transport, slots) = (Transport::unsent(), CallSlots::new(Some(1)));
        let caller = Caller {
            conversation: 1,
            capabilities: Bytes::from_static(b"{}"),
            log_level: None,
            may_be_asked: true,
            habit: None,
            listener: None,
        };
        let nobody_is_there: Work = Box::pin(async { Err(Fault::NotSent("nobody is there".to_owned())) });
        let fill = |_: &Transport, _| Ok(Some(nobody_is_there));
        let slot = slots.acquire().await.expect("the only one");
        let waiting = transport.exchange.begin(Some(caller)).expect("open");
        let call = Call::send(&transport, waiting, fill, false, slot).expect("sent");
        assert!(slots.acquire().now_or_never().is_none());
        assert!(call.answer().await.is_err());
        assert!(slots.acquire().now_or_never().is_some());
    }
}

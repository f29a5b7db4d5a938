//! `Call`: one request under way, whatever carries it. It may outlive the task that began it.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::{Context as Task, Poll, Waker};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use wire::{Code, WireError, write};

use super::asked::Question;
use super::caller::Caller;
use super::exchange::Exchange;
use super::outgoing::{Outgoing, Work};
use super::pending::{Happening, Next, Reply};
use super::transport::Transport;
use super::waiting::Waiting;
use crate::fault::Fault;
use crate::slots::CallSlot;

/// A call that was given up keeps its slot until the server answers it, but no longer than this: one that stops when it
/// is told to answers nothing, and others wait.
const SLOT_KEPT_MAX: Duration = Duration::from_secs(5);

/// A request that has been sent. Dropping it before its answer gives it up, and tells the server so.
pub(super) struct Call {
    transport: Arc<Transport>,
    waiting: Waiting,
    driver: Driver,
    modern: bool,
    /// True if the server is to be told when nobody waits any more.
    cancels: bool,
    is_over: bool,
    /// Kept for as long as the server is busy with it, but not while its client is asked.
    slot: CallSlot,
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
    /// Sends what `fill` makes of a new request's number.
    pub(super) fn send(
        transport: &Arc<Transport>,
        exchange: &Arc<Exchange>,
        caller: Option<Caller>,
        fill: impl FnOnce(&Transport, u64) -> Result<Option<Work>, Fault>,
        modern: bool,
        slot: CallSlot,
    ) -> Result<Call, Fault> {
        let cancels = caller.is_some();
        let waiting = exchange.begin(caller)?;
        let driver = match fill(transport, waiting.id())? {
            Some(work) => Driver::Work(work),
            None => Driver::Nobody,
        };
        Ok(Call { transport: transport.clone(), waiting, driver, modern, cancels, is_over: false, slot })
    }

    /// Sends a request of ours.
    pub(super) fn ask(
        transport: &Arc<Transport>,
        exchange: &Arc<Exchange>,
        method: &'static str,
        params: &[u8],
        modern: bool,
    ) -> Result<Call, Fault> {
        let fill = |transport: &Transport, id: u64| {
            transport.send(&Outgoing { id, method, params, modern, name: None, param_headers: &[] })
        };
        Call::send(transport, exchange, None, fill, modern, CallSlot::default())
    }

    /// The request's number.
    pub(super) fn id(&self) -> u64 {
        self.waiting.id()
    }

    /// Tells the server when nobody waits any more, though the request is ours.
    pub(super) fn cancelling(mut self) -> Call {
        self.cancels = true;
        self
    }

    /// Goes on for its client in another round.
    pub(super) fn go_on_for(&mut self, caller: Caller) {
        self.waiting.exchange().pending().now_for(self.waiting.id(), caller);
    }

    /// Has a slot again.
    pub(super) fn go_on_in(&mut self, slot: CallSlot) {
        self.slot = slot;
    }

    /// Lets the answer come though nobody waits for it just now. Few reports are kept, and its slot is another's.
    pub(super) fn detach(&mut self) {
        self.slot = CallSlot::default();
        self.waiting.exchange().pending().park(self.waiting.id());
        if let Driver::Work(work) = std::mem::replace(&mut self.driver, Driver::Nobody) {
            // Owned by this call, which aborts it when it is dropped.
            self.driver = Driver::Task(tokio::spawn(work));
        }
    }

    /// Sends the server an answer of the client.
    pub(super) fn tell(&self, message: Vec<u8>) {
        self.transport.tell(message);
    }

    /// Nobody answers this for the call any more: not at all, or the call has been answered without.
    pub(super) fn leave(&self, question: &Question) {
        if self.is_over && (question.of.is_none() || self.waiting.exchange().ask_another(self.id(), question))
        {
            return;
        }
        let error = WireError::new(Code::InternalError, "the client did not answer");
        let mut message = Vec::with_capacity(128);
        write::error(&mut message, Some(&question.id), &error);
        self.tell(message);
    }

    /// Leaves what the server asks of a client that nobody has told so yet.
    fn leave_unheard(&mut self) {
        let mut asked = Vec::new();
        while let Poll::Ready(next) = self.waiting.poll(&mut Task::from_waker(Waker::noop())) {
            match next {
                Next::Happened(Happening::Asked(question)) => asked.push(question),
                Next::Happened(_) => {}
                Next::Answered(_) => {
                    self.is_over = true;
                    break;
                }
            }
        }
        asked.iter().for_each(|question| self.leave(question));
    }

    /// Leaves its slot with the server, which may be busy with it for longer.
    fn leave_slot(&mut self) {
        let slot = std::mem::take(&mut self.slot);
        // Without a runtime nothing goes on.
        let (Some(slot), Ok(runtime)) = (slot.limited(), Handle::try_current()) else { return };
        let (exchange, id) = (self.waiting.exchange(), self.waiting.id());
        exchange.pending().keep_slot(id, slot);
        let exchange = Arc::downgrade(exchange);
        // Bounded by its time.
        runtime.spawn(async move {
            sleep(SLOT_KEPT_MAX).await;
            if let Some(exchange) = exchange.upgrade() {
                exchange.pending().free(id);
            }
        });
    }

    /// Waits for what comes next.
    pub(super) async fn next(&mut self) -> Next {
        poll_fn(|task| self.poll(task)).await
    }

    /// What comes next, if it is there already.
    pub(super) fn heard(&mut self) -> Option<Next> {
        match self.poll(&mut Task::from_waker(Waker::noop())) {
            Poll::Ready(next) => Some(next),
            Poll::Pending => None,
        }
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
        if let Driver::Task(running) = &self.driver
            && !self.is_over
        {
            running.abort();
        }
        if !self.is_over {
            self.leave_unheard();
        }
        let id = self.waiting.id();
        if self.is_over || !self.cancels || !self.waiting.exchange().is_open(id) {
            return;
        }
        self.leave_slot();
        if self.modern && self.transport.cancels_by_hanging_up() {
            return;
        }
        let params = format!("{{\"requestId\":{id},\"reason\":\"nobody waits for the answer any more\"}}");
        let mut message = Vec::with_capacity(params.len() + 80);
        write::notification(&mut message, "notifications/cancelled", Some(params.as_bytes()));
        self.transport.tell(message);
    }
}

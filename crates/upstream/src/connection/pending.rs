//! The requests that wait for an answer, by their numbers, and what the server asks about each before it.

mod questions;
mod tasks;
mod turns;

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context as Task, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tool_api::Progress;
use wire::message::Text;
use wire::{Id, WireError};

use super::asked::{QUESTIONS_MAX, Question};
use super::caller::Caller;
use crate::fault::Fault;
use crate::habits::Habit;

pub(crate) use self::turns::{Blocked, Turn};

/// Most requests that a server owes an answer. Beyond this it is not slow but stuck.
const REQUESTS_MAX: usize = 4_096;

/// All questions of all calls, in bytes: room for one message of the largest size.
const QUESTIONS_BYTES_MAX: usize = wire::STDIO_MESSAGE_BYTES_MAX;

/// Largest progress report that is kept while its client is asked something, in bytes: many calls may wait for long.
const MISSED_BYTES_MAX: usize = 4 << 10;

/// A server may go on for this long with a call that was given up. Longer would keep everybody else from being
/// asked after each cancelled call; most servers stop as soon as they are told.
const GIVEN_UP_MEMORY: Duration = Duration::from_secs(3);

/// The answer to a request: its result, or the error object that the server sent instead.
pub(crate) type Reply = Result<Text, Text>;

/// Open requests.
#[derive(Default)]
pub(crate) struct Pending {
    table: Mutex<Table>,
    /// Set when the connection is over.
    pub(crate) closed: CancellationToken,
}

#[derive(Default)]
struct Table {
    last_id: u64,
    /// How many calls there have been.
    calls: u64,
    open: HashMap<u64, Entry>,
    /// The questions that wait, in bytes.
    questions_bytes: usize,
    given_up: Vec<GivenUp>,
    /// Questions of which it is not known whose they are.
    held: Vec<Held>,
    /// Questions of tasks whose results nobody waits for yet.
    of_tasks: Vec<OfTask>,
    /// How many follow each task of 2025-11-25, by the server's own id.
    claimed: HashMap<Arc<str>, usize>,
    /// Questions that nobody can be asked any more.
    refused: Vec<(Id, WireError)>,
    /// Who is to be woken once the lock is free.
    wakers: Vec<Waker>,
    /// How the connection has ended, and why no answer will come any more.
    ended: Option<(Parting, Fault)>,
}

#[derive(Default)]
struct Entry {
    answer: Option<Result<Reply, Fault>>,
    happened: VecDeque<Happening>,
    waker: Option<Waker>,
    caller: Option<Caller>,
    /// The task whose result it is for.
    task: Option<Arc<str>>,
    /// True while its client is asked something.
    is_asked: bool,
    /// The last progress report that nobody heard.
    missed: Option<Bytes>,
}

/// A question of one of several calls.
struct Held {
    question: Question,
    /// The calls that were under way when it came, and what is known of such.
    calls: Vec<(u64, Option<Arc<Habit>>)>,
}

/// A question of a task whose result nobody waits for yet.
struct OfTask {
    task: Arc<str>,
    question: Question,
    /// The calls that were under way when it came: one of them may turn out to have begun the task.
    calls: Vec<u64>,
}

/// A call that nobody waits for. Its server may still be busy with it, and ask.
struct GivenUp {
    id: u64,
    conversation: u64,
    may_be_asked: bool,
    since: Instant,
}

/// Which way a message of the server came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Via {
    /// A way that all requests share: a pipe, or the stream of one GET.
    Shared,
    /// The stream that answers this request of ours alone.
    Request(u64),
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parting {
    /// The server went away, or became of no use.
    ByItself,
    /// It is a program that exited with code 0.
    Well,
    /// We ended it.
    Dismissed,
}

/// What the server says about a request before its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Happening {
    /// The server asks the client for something.
    Asked(Question),
    /// The server asked for what the client has not declared; the text says which `ClientCapabilities` it needs.
    Lacking(String),
    /// A subscription is in force; the text is the acknowledged filter's.
    Acknowledged(Text),
}

/// What comes next of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Something before the answer.
    Happened(Happening),
    /// The answer; nothing comes after it.
    Answered(Result<Reply, Fault>),
}

/// Why a message of the server belongs to no call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nobody {
    /// No call that could be meant is under way.
    NoCall,
    /// Calls of several clients are under way, and nothing says which is meant.
    SeveralClients,
}

impl Pending {
    /// Opens a request under a number of its own.
    pub(super) fn open(&self, caller: Option<Caller>) -> Result<u64, Fault> {
        self.with(|table| table.open(caller))
    }

    /// Hands over an answer; false if nobody waits for it.
    pub(crate) fn answer(&self, id: u64, answer: Result<Reply, Fault>) -> bool {
        self.with(|table| {
            let entry = table.open.get_mut(&id).filter(|entry| entry.answer.is_none());
            let is_awaited = entry.is_some();
            if let Some(entry) = entry {
                let habit = entry.caller.as_ref().and_then(|caller| caller.habit.as_ref());
                if let (Some(habit), Ok(Ok(result))) = (habit, &answer) {
                    habit.answered(result);
                }
                entry.tell_waiters();
                entry.answer = Some(answer);
                table.wakers.extend(entry.waker.take());
            } else {
                // The server is done with it.
                table.given_up.retain(|one| one.id != id);
            }
            table.settle_held();
            is_awaited
        })
    }

    /// Hands over what was heard about an open request; false if nobody waits for it, or it does not keep up.
    pub(crate) fn happened(&self, id: u64, happening: Happening) -> bool {
        self.with(|table| table.happened(id, happening))
    }

    /// Passes a progress report to whoever listens to the request. The last one waits for a client that is asked
    /// something, so that no step is missing when it comes back at once.
    pub(super) fn progress(&self, id: u64, report: Bytes) {
        let mut table = self.table();
        let Some(entry) = table.open.get_mut(&id).filter(|entry| entry.answer.is_none()) else { return };
        match entry.caller.as_ref().and_then(|caller| caller.listener.clone()) {
            Some(listener) => {
                drop(table);
                listener.progress(Progress::Relayed(report));
            }
            None if report.len() <= MISSED_BYTES_MAX => entry.missed = Some(Bytes::copy_from_slice(&report)),
            None => {}
        }
    }

    /// Nobody listens to the request until its client comes back.
    pub(super) fn suspend(&self, id: u64) {
        if let Some(caller) = self.table().open.get_mut(&id).and_then(|entry| entry.caller.as_mut()) {
            caller.listener = None;
        }
    }

    /// The client of a call goes on with it in another round.
    pub(super) fn now_for(&self, id: u64, caller: Caller) {
        let mut table = self.table();
        let Some(entry) = table.open.get_mut(&id) else { return };
        let missed = entry.missed.take().zip(caller.listener.clone());
        let habit = entry.caller.take().and_then(|before| before.habit);
        entry.caller = Some(Caller { habit, ..caller });
        entry.is_asked = false;
        drop(table);
        if let Some((report, listener)) = missed {
            listener.progress(Progress::Relayed(report));
        }
    }

    /// The call that a message is about which names none, and the call's client: the one whose stream it came
    /// on, or else the newest that `may_be_meant`, if all calls that the server may be busy with, of those that
    /// `count`, are of one conversation.
    pub(crate) fn attribute(
        &self,
        via: Via,
        counts: impl Fn(&Caller) -> bool,
        may_be_meant: impl Fn(&Caller) -> bool,
    ) -> Result<(u64, Caller), Nobody> {
        self.with(|table| table.attribute(via, counts, may_be_meant))
    }

    /// True while the request waits for its answer.
    pub(crate) fn is_open(&self, id: u64) -> bool {
        self.table().open.get(&id).is_some_and(|entry| entry.answer.is_none())
    }

    /// Resolves once the request has its answer, or is forgotten. For one that nobody polls.
    pub(crate) async fn answered(&self, id: u64) {
        poll_fn(|task| {
            let mut table = self.table();
            let open = table.open.get_mut(&id).filter(|entry| entry.answer.is_none());
            let Some(entry) = open else { return Poll::Ready(()) };
            entry.waker = Some(task.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// The only open call, if there is exactly one, or else the only request of our own.
    pub(crate) fn only(&self) -> Option<u64> {
        let table = self.table();
        let open = table.open.iter().filter(|(_, entry)| entry.answer.is_none());
        let (calls, own): (Vec<_>, Vec<_>) = open.partition(|(_, entry)| entry.caller.is_some());
        match if calls.is_empty() { &own[..] } else { &calls[..] } {
            [(id, _)] => Some(**id),
            _ => None,
        }
    }

    /// How many calls there have been, if none is under way; requests of our own are none.
    pub(crate) fn idle_after(&self) -> Option<u64> {
        self.table().idle_after()
    }

    /// Ends the connection, which is not used, if there has been no call after the first `calls`: whoever comes now is
    /// told that nothing was sent. False if there has been one, or is.
    pub(crate) fn end_idle(&self, calls: u64) -> bool {
        let mut table = self.table();
        let is_idle = table.idle_after() == Some(calls);
        if is_idle {
            let fault = || Fault::Gone("was stopped, since nobody used it".to_owned());
            table.ended.get_or_insert_with(|| (Parting::Dismissed, fault()));
            drop(table);
            self.closed.cancel();
        }
        is_idle
    }

    /// The connection is over, but not yet for those who wait: refuses further requests, and nothing else.
    pub(super) fn refuse(&self, fault: &Fault) {
        self.table().ended.get_or_insert_with(|| (Parting::ByItself, fault.clone()));
        self.closed.cancel();
    }

    /// The connection is over: answers whoever still waits, and refuses further requests.
    pub(crate) fn end(&self, parting: Parting, fault: &Fault) {
        let mut wakers = Vec::new();
        let mut table = self.table();
        table.ended.get_or_insert_with(|| (parting, fault.clone()));
        for entry in table.open.values_mut() {
            entry.tell_waiters();
            entry.answer.get_or_insert_with(|| Err(fault.clone()));
            wakers.extend(entry.waker.take());
        }
        table.given_up.clear();
        table.held.clear();
        table.of_tasks.clear();
        drop(table);
        wakers.into_iter().for_each(Waker::wake);
        self.closed.cancel();
    }

    /// How the connection has ended, and why no answer will come any more, if so.
    pub(crate) fn ended(&self) -> Option<(Parting, Fault)> {
        self.table().ended.clone()
    }

    /// Nobody waits for this request any more. If it was sent, the server may be busy with it for longer.
    pub(super) fn forget(&self, id: u64, is_sent: bool) {
        self.with(|table| {
            let Some(entry) = table.open.remove(&id) else { return };
            table.questions_bytes -= entry.happened.iter().map(Happening::bytes).sum::<usize>();
            entry.tell_waiters();
            let is_going_on = is_sent && entry.answer.is_none() && table.ended.is_none();
            if let Some(caller) = entry.caller.filter(|_| is_going_on) {
                let Caller { conversation, may_be_asked, .. } = caller;
                table.given_up.push(GivenUp { id, conversation, may_be_asked, since: Instant::now() });
            }
            table.settle_held();
        });
    }

    pub(super) fn poll(&self, id: u64, task: &mut Task<'_>) -> Poll<Next> {
        let mut table = self.table();
        let Table { open, questions_bytes, .. } = &mut *table;
        let Some(entry) = open.get_mut(&id) else {
            return Poll::Ready(Next::Answered(Err(Fault::Gone("forgot the request".to_owned()))));
        };
        // What happened first, so that nothing comes after the answer.
        if let Some(happening) = entry.happened.pop_front() {
            *questions_bytes -= happening.bytes();
            return Poll::Ready(Next::Happened(happening));
        }
        if let Some(answer) = entry.answer.take() {
            table.open.remove(&id);
            return Poll::Ready(Next::Answered(answer));
        }
        match &mut entry.waker {
            Some(waker) => waker.clone_from(task.waker()),
            None => entry.waker = Some(task.waker().clone()),
        }
        Poll::Pending
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("nothing panics while it holds the lock")
    }

    /// Does `work`, and then wakes those who have something to look at.
    fn with<T>(&self, work: impl FnOnce(&mut Table) -> T) -> T {
        let mut table = self.table();
        let done = work(&mut table);
        let wakers = std::mem::take(&mut table.wakers);
        drop(table);
        wakers.into_iter().for_each(Waker::wake);
        done
    }
}

impl Table {
    fn open(&mut self, caller: Option<Caller>) -> Result<u64, Fault> {
        if self.ended.is_some() {
            return Err(Fault::NotSent("it has stopped".to_owned()));
        }
        if self.open.len() + self.given_up.len() >= REQUESTS_MAX {
            self.given_up.retain(GivenUp::is_recent);
        }
        if self.open.len() + self.given_up.len() >= REQUESTS_MAX {
            return Err(Fault::Busy);
        }
        self.last_id += 1;
        self.calls += u64::from(caller.is_some());
        let id = self.last_id;
        self.open.insert(id, Entry { caller, ..Entry::default() });
        Ok(id)
    }

    fn happened(&mut self, id: u64, happening: Happening) -> bool {
        let bytes = self.questions_bytes + happening.bytes();
        let has_room = |entry: &&mut Entry| entry.answer.is_none() && entry.happened.len() < QUESTIONS_MAX;
        let Some(entry) = self.open.get_mut(&id).filter(has_room).filter(|_| bytes <= QUESTIONS_BYTES_MAX)
        else {
            return false;
        };
        entry.is_asked |= matches!(happening, Happening::Asked(_));
        entry.happened.push_back(happening);
        self.questions_bytes = bytes;
        self.wakers.extend(entry.waker.take());
        true
    }

    fn attribute(
        &self,
        via: Via,
        counts: impl Fn(&Caller) -> bool,
        may_be_meant: impl Fn(&Caller) -> bool,
    ) -> Result<(u64, Caller), Nobody> {
        let may_be_meant = |caller: &Caller| counts(caller) && may_be_meant(caller);
        if let Via::Request(id) = via {
            let entry = self.open.get(&id).filter(|entry| entry.answer.is_none());
            let caller = entry.and_then(|entry| entry.caller.clone()).filter(may_be_meant);
            return caller.map(|caller| (id, caller)).ok_or(Nobody::NoCall);
        }
        let mut newest: Option<(u64, &Caller)> = None;
        let mut conversation = None;
        for (&id, entry) in self.open.iter().filter(|(_, entry)| entry.answer.is_none()) {
            let Some(caller) = entry.caller.as_ref().filter(|caller| counts(caller)) else { continue };
            if conversation.is_some_and(|one| one != caller.conversation || one == 0) {
                return Err(Nobody::SeveralClients);
            }
            conversation = Some(caller.conversation);
            if may_be_meant(caller) && newest.is_none_or(|(newest, _)| newest < id) {
                newest = Some((id, caller));
            }
        }
        let (id, caller) = newest.ok_or(Nobody::NoCall)?;
        let is_another = |one: &GivenUp| {
            one.is_recent() && (one.conversation != caller.conversation || one.conversation == 0)
        };
        match self.given_up.iter().any(is_another) {
            true => Err(Nobody::SeveralClients),
            false => Ok((id, caller.clone())),
        }
    }

    fn idle_after(&self) -> Option<u64> {
        self.open.values().all(|entry| entry.caller.is_none()).then_some(self.calls)
    }
}

impl Entry {
    /// It is over, so that another may have its turn.
    fn tell_waiters(&self) {
        if let Some(habit) = self.caller.as_ref().and_then(|caller| caller.habit.as_ref()) {
            habit.tell();
        }
    }
}

impl GivenUp {
    fn is_recent(&self) -> bool {
        self.since.elapsed() < GIVEN_UP_MEMORY
    }
}

impl Happening {
    /// The bytes of a question.
    fn bytes(&self) -> usize {
        match self {
            Happening::Asked(question) => question.bytes(),
            Happening::Lacking(_) | Happening::Acknowledged(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests;

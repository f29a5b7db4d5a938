//! The requests that wait for an answer, by their numbers, and what is heard about each before it.

mod given_up;

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};
use std::task::{Context as Task, Poll, Waker};

use bytes::Bytes;
use tokio::time::Instant;
use wire::Id;
use wire::message::Text;
use wire::subscriptions::WATCHED_BYTES_MAX;

use super::asked::{QUESTIONS_MAX, Question};
use super::caller::Caller;
use super::via::Via;
use crate::fault::Fault;
use crate::slots::CallSlot;
use given_up::GivenUp;

/// Most requests that wait on one server. Beyond this it is not slow but stuck.
const REQUESTS_MAX: usize = 4_096;

/// Reports and log messages of one call that its task has not yet passed on; more are dropped, the newest
/// first.
const REPORTS_WAITING_MAX: usize = 64;

/// The same in bytes; a single one may be larger.
const REPORTS_BYTES_MAX: usize = 1 << 20;

/// The same while the call waits for its client, without exception: many calls may wait for long.
const SUSPENDED_REPORTS_BYTES_MAX: usize = 4 << 10;

/// All such questions of all calls, in bytes: room for one message of the largest size.
const QUESTIONS_BYTES_MAX: usize = wire::STDIO_MESSAGE_BYTES_MAX;

/// The answer to a request: its result, or the error object that the server sent instead.
pub(crate) type Reply = Result<Text, Text>;

/// Open requests.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    last_id: u64,
    /// How many calls there have been.
    calls: u64,
    open: HashMap<u64, Entry>,
    /// The questions that wait, in bytes.
    questions_bytes: usize,
    given_up: GivenUp,
    /// The slots of calls that were given up and not answered yet; no more than the server has.
    slots: Vec<(u64, CallSlot)>,
    /// Why no answer will come any more.
    ended: Option<Fault>,
}

#[derive(Debug)]
struct Entry {
    answer: Option<Result<Reply, Fault>>,
    happened: VecDeque<Happening>,
    /// The reports among them, in bytes.
    reports_bytes: usize,
    /// The server's ids for what it asked last, as JSON text: copies, so that nothing else is kept with them.
    asked: VecDeque<Box<str>>,
    /// True while nobody listens: little is kept of what is only for the moment.
    is_suspended: bool,
    waker: Option<Waker>,
    caller: Option<Caller>,
}

/// What is heard about a request before its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Happening {
    /// The parameters of a progress report.
    Progress(Bytes),
    /// The parameters of a log message.
    Log(Bytes),
    /// The server asks the client for something.
    Asked(Question),
    /// The server takes back what it asked under this id (JSON text), which has been taken in already.
    Withdrawn(Box<str>),
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
        let mut table = self.table();
        if table.ended.is_some() {
            return Err(Fault::NotSent("it has stopped".to_owned()));
        }
        if table.open.len() >= REQUESTS_MAX {
            return Err(Fault::Busy);
        }
        table.last_id += 1;
        table.calls += u64::from(caller.is_some());
        let id = table.last_id;
        table.open.insert(id, Entry::new(caller));
        Ok(id)
    }

    /// Hands over an answer; false if nobody waits for it.
    pub(crate) fn answer(&self, id: u64, answer: Result<Reply, Fault>) -> bool {
        let waker = {
            let mut table = self.table();
            let Table { open, given_up, slots, .. } = &mut *table;
            let Some(entry) = open.get_mut(&id).filter(|entry| entry.answer.is_none()) else {
                given_up.answered(id);
                let slot = slot_of(slots, id);
                drop(table);
                drop(slot);
                return false;
            };
            entry.answer = Some(answer);
            entry.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
        true
    }

    /// Hands over what was heard about an open request; false if nobody waits for it, or it does not keep up.
    pub(crate) fn happened(&self, id: u64, happening: Happening) -> bool {
        let waker = {
            let mut table = self.table();
            let Table { open, questions_bytes, .. } = &mut *table;
            let Some(entry) = open.get_mut(&id).filter(|entry| entry.has_room(&happening, *questions_bytes))
            else {
                return false;
            };
            *questions_bytes += entry.keep(happening);
            entry.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
        true
    }

    /// The server does not want to know any more what it asked under this id.
    pub(super) fn withdraw(&self, id: &Id) {
        let mut table = self.table();
        let Table { open, questions_bytes, .. } = &mut *table;
        for entry in open.values_mut() {
            let at = entry.asked.iter().position(|asked| **asked == *id.text());
            let Some(own) = at.and_then(|at| entry.asked.remove(at)) else { continue };
            let is_it = |happening: &Happening| matches!(happening, Happening::Asked(one) if one.id == *id);
            match entry.happened.iter().position(is_it) {
                Some(at) => *questions_bytes -= entry.happened.remove(at).map_or(0, |it| it.question_bytes()),
                None => drop(entry.keep(Happening::Withdrawn(own))),
            }
            let waker = entry.waker.take();
            drop(table);
            return waker.into_iter().for_each(Waker::wake);
        }
    }

    /// Nobody listens to the request until its client comes back.
    pub(super) fn park(&self, id: u64) {
        if let Some(entry) = self.table().open.get_mut(&id) {
            entry.is_suspended = true;
            if entry.reports_bytes > SUSPENDED_REPORTS_BYTES_MAX {
                entry.happened.retain(|happening| happening.report_bytes() == 0);
                entry.reports_bytes = 0;
            }
            entry.happened.iter_mut().for_each(Happening::detach_report);
        }
    }

    /// The call that a message is about which names none, and the call's client: the one whose stream it came
    /// on, or else the newest that is `meant`, if all calls that the server may be busy with are of one
    /// conversation.
    pub(crate) fn attribute(
        &self,
        via: Via,
        meant: impl Fn(&Caller) -> bool,
    ) -> Result<(u64, Caller), Nobody> {
        let table = self.table();
        let live = |id: &u64| table.open.get(id).filter(|entry| entry.answer.is_none());
        if let Via::Request(id) = via {
            let caller = live(&id).and_then(|entry| entry.caller.clone()).filter(&meant);
            return caller.map(|caller| (id, caller)).ok_or(Nobody::NoCall);
        }
        let mut newest: Option<(u64, &Caller)> = None;
        let mut conversation = None;
        for (&id, entry) in table.open.iter().filter(|(_, entry)| entry.answer.is_none()) {
            let Some(caller) = &entry.caller else { continue };
            let is_another = conversation.is_some_and(|one| one != caller.conversation || one == 0);
            if is_another {
                return Err(Nobody::SeveralClients);
            }
            conversation = Some(caller.conversation);
            if meant(caller) && newest.is_none_or(|(newest, _)| newest < id) {
                newest = Some((id, caller));
            }
        }
        let (id, caller) = newest.ok_or(Nobody::NoCall)?;
        match table.given_up.may_be_of_another(caller.conversation, Instant::now()) {
            true => Err(Nobody::SeveralClients),
            false => Ok((id, caller.clone())),
        }
    }

    /// The newest call of the conversation that is `meant`, of those which began before the call `id`.
    pub(super) fn older(&self, id: u64, conversation: u64, meant: impl Fn(&Caller) -> bool) -> Option<u64> {
        let is_it = |(number, entry): &(&u64, &Entry)| {
            let caller = entry.caller.as_ref().filter(|caller| caller.conversation == conversation);
            **number < id && conversation != 0 && entry.answer.is_none() && caller.is_some_and(&meant)
        };
        self.table().open.iter().filter(is_it).map(|(number, _)| *number).max()
    }

    /// The client of a call goes on with it in another round.
    pub(super) fn now_for(&self, id: u64, caller: Caller) {
        if let Some(entry) = self.table().open.get_mut(&id) {
            entry.caller = Some(caller);
            entry.is_suspended = false;
        }
    }

    /// True while the request waits for its answer.
    pub(crate) fn is_open(&self, id: u64) -> bool {
        self.table().open.get(&id).is_some_and(|entry| entry.answer.is_none())
    }

    /// The only open call, if there is exactly one, or else the only request of our own.
    pub(crate) fn only(&self) -> Option<u64> {
        let table = self.table();
        let open = || table.open.iter().filter(|(_, entry)| entry.answer.is_none());
        let mut calls = open().filter(|(_, entry)| entry.caller.is_some());
        let (one, more) = match calls.next() {
            Some(call) => (call, calls.next()),
            None => {
                let mut own = open();
                (own.next()?, own.next())
            }
        };
        more.is_none().then_some(*one.0)
    }

    /// How many calls there have been, if none is under way; requests of our own are none.
    pub(super) fn idle_after(&self) -> Option<u64> {
        self.table().idle_after()
    }

    /// Opens no more requests, because of `fault`, if there is no call and has been none after the first `calls`. False
    /// if that is not so.
    pub(super) fn rest(&self, calls: u64, fault: &Fault) -> bool {
        let mut table = self.table();
        let is_idle = table.idle_after() == Some(calls);
        if is_idle {
            table.ended.get_or_insert_with(|| fault.clone());
        }
        is_idle
    }

    /// Opens no more requests, because of `fault`.
    pub(super) fn refuse(&self, fault: &Fault) {
        self.table().ended.get_or_insert_with(|| fault.clone());
    }

    /// Answers all open requests with `fault` and opens no more.
    pub(crate) fn end(&self, fault: &Fault) {
        let mut wakers = Vec::new();
        let mut table = self.table();
        table.ended.get_or_insert_with(|| fault.clone());
        for entry in table.open.values_mut() {
            entry.answer.get_or_insert_with(|| Err(fault.clone()));
            wakers.extend(entry.waker.take());
        }
        let slots = std::mem::take(&mut table.slots);
        drop(table);
        drop(slots);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Why no answer will come any more, if so.
    pub(crate) fn ended(&self) -> Option<Fault> {
        self.table().ended.clone()
    }

    /// Keeps the slot of a call that nobody waits for any more, until its answer comes or [`Pending::free`] is called.
    pub(super) fn keep_slot(&self, id: u64, slot: CallSlot) {
        self.table().slots.push((id, slot));
    }

    /// The slot of a call is over, whatever the server does about it.
    pub(super) fn free(&self, id: u64) {
        let slot = slot_of(&mut self.table().slots, id);
        drop(slot);
    }

    /// Nobody waits for this request any more.
    pub(super) fn forget(&self, id: u64) {
        let mut table = self.table();
        let Some(entry) = table.open.remove(&id) else { return };
        table.questions_bytes -= entry.happened.iter().map(Happening::question_bytes).sum::<usize>();
        if entry.answer.is_some() {
            // It came while it was being given up.
            let slot = slot_of(&mut table.slots, id);
            drop(table);
            return drop(slot);
        }
        let Some(caller) = entry.caller else { return };
        table.given_up.note(id, caller.conversation, Instant::now());
    }

    pub(super) fn poll(&self, id: u64, task: &mut Task<'_>) -> Poll<Next> {
        let mut table = self.table();
        let Table { open, questions_bytes, .. } = &mut *table;
        let Some(entry) = open.get_mut(&id) else {
            return Poll::Ready(Next::Answered(Err(forgotten())));
        };
        // What happened first, so that nothing comes after the answer.
        if let Some(happening) = entry.happened.pop_front() {
            *questions_bytes -= happening.question_bytes();
            entry.reports_bytes -= happening.report_bytes();
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
}

impl Table {
    fn idle_after(&self) -> Option<u64> {
        self.open.values().all(|entry| entry.caller.is_none()).then_some(self.calls)
    }
}

/// Takes out the slot of the call `id`. It is for the caller to drop, outside of the lock.
fn slot_of(slots: &mut Vec<(u64, CallSlot)>, id: u64) -> Option<CallSlot> {
    let at = slots.iter().position(|(of, _)| *of == id)?;
    Some(slots.swap_remove(at).1)
}

fn forgotten() -> Fault {
    Fault::Gone("forgot the request".to_owned())
}

impl Happening {
    /// The bytes of a question.
    fn question_bytes(&self) -> usize {
        match self {
            Happening::Asked(question) => question.bytes(),
            _ => 0,
        }
    }

    /// The bytes of what is reported and then forgotten.
    fn report_bytes(&self) -> usize {
        match self {
            Happening::Progress(params) | Happening::Log(params) => params.len(),
            _ => 0,
        }
    }

    /// Makes a report a copy, so that nothing else is kept with it.
    fn detach_report(&mut self) {
        if let Happening::Progress(params) | Happening::Log(params) = self {
            *params = Bytes::copy_from_slice(params);
        }
    }
}

impl Entry {
    fn new(caller: Option<Caller>) -> Entry {
        Entry {
            answer: None,
            happened: VecDeque::new(),
            reports_bytes: 0,
            asked: VecDeque::new(),
            is_suspended: false,
            waker: None,
            caller,
        }
    }

    fn has_room(&self, happening: &Happening, questions_bytes: usize) -> bool {
        let is_question = |happening: &Happening| matches!(happening, Happening::Asked(_));
        let questions = self.happened.iter().filter(|happening| is_question(happening)).count();
        let room = if is_question(happening) {
            questions < QUESTIONS_MAX && questions_bytes + happening.question_bytes() <= QUESTIONS_BYTES_MAX
        } else {
            let bytes = happening.report_bytes();
            let has_bytes = match self.is_suspended {
                true => self.reports_bytes + bytes <= SUSPENDED_REPORTS_BYTES_MAX,
                false => self.reports_bytes == 0 || self.reports_bytes + bytes <= REPORTS_BYTES_MAX,
            };
            has_bytes && self.happened.len() - questions < REPORTS_WAITING_MAX
        };
        room && self.answer.is_none()
    }

    /// Keeps it, and returns how many bytes of a question it is.
    fn keep(&mut self, mut happening: Happening) -> usize {
        if self.is_suspended {
            happening.detach_report();
        }
        let bytes = happening.question_bytes();
        self.reports_bytes += happening.report_bytes();
        if let Happening::Asked(question) = &happening
            && question.id.text().len() <= WATCHED_BYTES_MAX
        {
            // Nobody takes back what it asked long ago.
            if self.asked.len() == QUESTIONS_MAX {
                self.asked.pop_front();
            }
            self.asked.push_back(question.id.text().into());
        }
        self.happened.push_back(happening);
        bytes
    }
}

#[cfg(test)]
mod tests;

//! Calls that wait for their client to call again with what the server asked for. Each waits for a bounded
//! time; then it is given up, and the server told so.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use data_encoding::HEXLOWER;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tool_api::Hold;
use wire::write;

use super::asked::Question;
use super::call::Call;
use super::exchange::MakesWay;
use super::pending::{Happening, Next, Reply};
use crate::fault::Fault;

/// Most calls of one connection that wait so.
const CALLS_MAX: usize = 1_000;

/// Everything that is asked in them together, in bytes: room for one message of the largest size.
const QUESTIONS_BYTES_MAX: usize = wire::STDIO_MESSAGE_BYTES_MAX;

/// How long a client has to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// After this long, a call whose client nobody sees any more makes way for those whom it keeps from being asked.
const UNSEEN_MAX: Duration = Duration::from_secs(60);

/// Random bytes in the name of a suspended call: nobody guesses one, and none comes twice.
const NAME_BYTES: usize = 16;

/// A call and what its client has not answered yet, by key. Dropping it gives the call up: the server hears
/// that nobody answers. If the call has been answered, another one is asked where it may be meant.
pub(super) struct SuspendedCall {
    call: Option<Call>,
    open: Vec<(String, Question)>,
}

impl SuspendedCall {
    /// A call whose server asks for nothing yet.
    pub(super) fn new(call: Call) -> SuspendedCall {
        SuspendedCall { call: Some(call), open: Vec::new() }
    }

    pub(super) fn call(&mut self) -> &mut Call {
        self.call.as_mut().expect("it is there until it goes on")
    }

    /// What is open, by key.
    pub(super) fn open(&self) -> &[(String, Question)] {
        &self.open
    }

    pub(super) fn add(&mut self, key: String, question: Question) {
        self.open.push((key, question));
    }

    /// Takes in what was heard while nobody listened: what the server took back is not open any more, and the
    /// rest is handed to `pass_on`. Returns the answer if it has come; then only what another call may have asked is
    /// still open.
    pub(super) fn catch_up(
        &mut self,
        mut pass_on: impl FnMut(&mut SuspendedCall, Happening) -> Result<(), Fault>,
    ) -> Result<Option<Reply>, Fault> {
        while let Some(next) = self.call().heard() {
            match next {
                Next::Happened(Happening::Withdrawn(id)) => self.withdraw(&id),
                Next::Happened(happening) => pass_on(self, happening)?,
                Next::Answered(reply) => {
                    self.open.retain(|(_, question)| question.of.is_some());
                    return reply.map(Some);
                }
            }
        }
        Ok(None)
    }

    /// The server does not want to know this any more.
    pub(super) fn withdraw(&mut self, id: &str) {
        self.open.retain(|(_, question)| question.id.text() != id);
    }

    /// Tells the server what the client answers to the questions whose keys `answer` knows.
    pub(super) fn answer<'a>(&mut self, answer: impl Fn(&str) -> Option<&'a str>) {
        let open = std::mem::take(&mut self.open);
        for (key, question) in open {
            let Some(answer) = answer(&key) else {
                self.open.push((key, question));
                continue;
            };
            let mut message = Vec::with_capacity(answer.len() + 64);
            write::result(&mut message, &question.id, answer.as_bytes());
            self.call().tell(message);
        }
    }

    /// How much is asked, in bytes.
    fn bytes(&self) -> usize {
        self.open.iter().map(|(_, question)| question.bytes()).sum()
    }

    /// The call, to go on with; nothing must be open.
    pub(super) fn go_on(mut self) -> Call {
        self.call.take().expect("it is there until it goes on")
    }
}

impl Drop for SuspendedCall {
    fn drop(&mut self) {
        if self.call.is_none() {
            return;
        }
        let keep = |stay: &mut SuspendedCall, happening| {
            if let Happening::Asked(question) = happening {
                stay.add(String::new(), question);
            }
            Ok(())
        };
        // A fault is an answer as well.
        let _ = self.catch_up(keep);
        let Some(call) = &self.call else { return };
        self.open.iter().for_each(|(_, question)| call.leave(question));
    }
}

/// The suspended calls of one connection.
#[derive(Default)]
pub(super) struct SuspendedCalls {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    calls: HashMap<Arc<str>, Entry>,
    /// What is asked in them.
    bytes: usize,
}

struct Entry {
    stay: SuspendedCall,
    due: Instant,
    /// When its client is taken for gone, if nobody sees that client.
    old: Instant,
    /// Alive while somebody does.
    holder: Weak<()>,
    _expiry: Expiry,
}

/// Ends the task that waits for a call's deadline.
struct Expiry(AbortHandle);

impl Drop for Expiry {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl SuspendedCalls {
    /// Keeps a call. Returns the name under which it can be had back once, and what gives it up as soon as
    /// nobody means to.
    pub(super) fn put(self: &Arc<Self>, stay: SuspendedCall) -> Result<(Arc<str>, Hold), Fault> {
        let mut random = [0; NAME_BYTES];
        getrandom::fill(&mut random).map_err(|_| Fault::Busy)?;
        let name: Arc<str> = HEXLOWER.encode(&random).into();
        let (table, own, now) = (Arc::downgrade(self), name.clone(), Instant::now());
        let (due, old) = (now + ANSWER_TIMEOUT, now + UNSEEN_MAX);
        let mut parked = self.table();
        let bytes = stay.bytes();
        if parked.calls.len() >= CALLS_MAX || parked.bytes + bytes > QUESTIONS_BYTES_MAX {
            return Err(Fault::Busy);
        }
        parked.bytes += bytes;
        // Owned by the entry, which aborts it.
        let expiry = tokio::spawn(async move {
            tokio::time::sleep_until(due).await;
            if let Some(table) = table.upgrade() {
                drop(table.take(&own));
            }
        });
        let _expiry = Expiry(expiry.abort_handle());
        let (hold, holder) = self.hold(&name);
        parked.calls.insert(name.clone(), Entry { stay, due, old, holder, _expiry });
        Ok((name, hold))
    }

    /// What gives up the call of this name, and what dies with it, or when it is left.
    fn hold(self: &Arc<Self>, name: &Arc<str>) -> (Hold, Weak<()>) {
        let (table, name, alive) = (Arc::downgrade(self), name.clone(), Arc::new(()));
        let holder = Arc::downgrade(&alive);
        let hold = Hold::new(move || {
            let _alive = alive;
            if let Some(table) = table.upgrade() {
                drop(table.take(&name));
            }
        });
        (hold, holder)
    }

    /// Gives a call back, if it is not too late.
    pub(super) fn take(&self, name: &str) -> Option<SuspendedCall> {
        let parked = {
            let mut table = self.table();
            let parked = table.calls.remove(name)?;
            table.bytes -= parked.stay.bytes();
            parked
        };
        (Instant::now() < parked.due).then_some(parked.stay)
    }

    /// True if a call waits under this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.table().calls.contains_key(name)
    }

    /// True if no call waits.
    pub(super) fn is_empty(&self) -> bool {
        self.table().calls.is_empty()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("nothing panics while it holds the lock")
    }
}

impl MakesWay for SuspendedCalls {
    fn give_up_old(&self) {
        let now = Instant::now();
        let is_old = |entry: &Entry| entry.old <= now && entry.holder.strong_count() == 0;
        let named = |(name, entry): (&Arc<str>, &Entry)| is_old(entry).then(|| name.clone());
        let old: Vec<Arc<str>> = self.table().calls.iter().filter_map(named).collect();
        for name in old {
            drop(self.take(&name));
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, Uri};
    use sandbox::Client;

    use wire::Id;
    use wire::message::Text;

    use super::super::asked::Kind;
    use super::super::caller::Caller;
    use super::super::exchange::Exchange;
    use super::super::http as web;
    use super::super::transport::Transport;
    use super::super::via::Via;
    use super::*;

    /// Makes calls of which nothing is sent, since nobody polls them, and their exchange.
    fn calls() -> (impl Fn() -> SuspendedCall, Arc<Exchange>) {
        let exchange = Arc::new(Exchange::new("it".into()));
        let url = Uri::from_static("http://127.0.0.1:1/mcp");
        let http = web::Http::new(
            web::Signed::new(Client::new(), None, None),
            &url,
            &HeaderMap::new(),
            exchange.clone(),
        );
        let (transport, shared) = (Arc::new(Transport::Http(http)), exchange.clone());
        let stay = move || {
            let call = Call::ask(&transport, &exchange, "tools/call", b"{}", false).expect("open");
            SuspendedCall::new(call)
        };
        (stay, shared)
    }

    /// Which of three suspended calls are still there some time after the first was held, the second left and the
    /// third dropped.
    async fn check_there(after: Duration, expected: [bool; 3]) {
        let (stay, exchange) = calls();
        let parked = Arc::new(SuspendedCalls::default());
        exchange.make_way_by(Arc::downgrade(&parked) as _);
        let [one, two, three] = [(); 3].map(|()| parked.put(stay()).expect("room"));
        two.1.leave();
        drop((two.1, three.1));
        tokio::time::advance(after).await;
        // Two clients are under way, so nobody can be asked.
        let caller = |conversation| Caller {
            conversation,
            capabilities: Bytes::from_static(b"{}"),
            log_level: None,
            may_be_asked: true,
        };
        let _waiting = [7, 8].map(|it| exchange.begin(Some(caller(it))).expect("open"));
        let asks = Bytes::from_static(br#"{"jsonrpc":"2.0","id":0,"method":"roots/list"}"#);
        exchange.take_in(asks, Via::Shared, &mut |_| {});
        let there = [&one.0, &two.0, &three.0].map(|name| parked.has(name));
        assert_eq!(there, expected, "{after:?}");
        assert_eq!([1, 2, 3].map(|id| exchange.is_open(id)), expected, "{after:?}");
        drop(parked.take(&one.0));
        drop(one.1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_kept_for_as_long_as_its_client_is_seen_or_may_come_back() {
        check_there(Duration::ZERO, [true, true, false]).await;
        check_there(UNSEEN_MAX - Duration::from_millis(1), [true, true, false]).await;
        check_there(UNSEEN_MAX, [true, false, false]).await;
    }

    #[tokio::test]
    async fn there_is_an_end_to_parked_calls_and_each_is_given_back_once() {
        let (stay, exchange) = calls();
        let parked = Arc::new(SuspendedCalls::default());
        let put = |stay: SuspendedCall| {
            let (name, hold) = parked.put(stay)?;
            hold.leave();
            Ok::<_, Fault>(name)
        };
        let names: Vec<_> = (0..CALLS_MAX).map(|_| put(stay()).expect("room")).collect();
        assert_eq!(put(stay()).err(), Some(Fault::Busy));
        assert!(parked.take(&names[0]).is_some());
        assert!(parked.take(&names[0]).is_none());
        let again = put(stay()).expect("room");
        assert!(!names.contains(&again));
        let text = format!("\"{}\"", "x".repeat(QUESTIONS_BYTES_MAX / 2));
        let large = Text::check(text.into()).expect("JSON");
        drop(parked.take(&names[1]));
        drop(parked.take(&names[2]));
        let asking = || {
            let (id, kind, params) = (Id::number(1), Kind::Roots, Some(large.clone()));
            let mut stay = stay();
            stay.add("key".to_owned(), Question { id, kind, params, of: None });
            stay
        };
        let one = put(asking()).expect("room for one");
        assert_eq!(put(asking()).err(), Some(Fault::Busy));
        drop(parked.take(&one));
        assert!(put(asking()).is_ok(), "there is room again");
        drop(parked);
        assert!(
            (1..=5 + CALLS_MAX as u64).all(|id| !exchange.is_open(id)),
            "they are given up with the table"
        );
    }
}

//! Calls that wait for their client to call again with what the server asked for. Each waits for a bounded
//! time; then it is given up, and the server told so.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use data_encoding::HEXLOWER;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tool_api::{Cancel, Hold};

use super::asked::Question;
use super::call::Call;
use crate::fault::Fault;

/// Most calls of one connection that wait so.
const CALLS_MAX: usize = 1_000;

/// Everything that is asked in them together, in bytes: room for one message of the largest size.
const QUESTIONS_BYTES_MAX: usize = wire::STDIO_MESSAGE_BYTES_MAX;

/// How long a client has to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Random bytes in the name of a suspended call: nobody guesses one, and none comes twice.
const NAME_BYTES: usize = 16;

/// The suspended calls of one connection.
#[derive(Default)]
pub(crate) struct SuspendedCalls {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    calls: HashMap<Arc<str>, Entry>,
    /// What is asked in them.
    bytes: usize,
}

struct Entry {
    call: Call,
    due: Instant,
    /// The task that waits for the call's end, and its deadline; ends with this.
    _watch: JoinSet<()>,
}

impl SuspendedCalls {
    /// Keeps a call. Returns the name under which it can be had back once, and what gives it up as soon as
    /// nobody means to.
    pub(super) fn put(self: &Arc<Self>, call: Call) -> Result<(Arc<str>, Hold), Fault> {
        let mut random = [0; NAME_BYTES];
        getrandom::fill(&mut random).map_err(|_| Fault::Busy)?;
        let name: Arc<str> = HEXLOWER.encode(&random).into();
        let give_up = {
            let (calls, name) = (Arc::downgrade(self), name.clone());
            move || drop(calls.upgrade().and_then(|calls| calls.take(&name)))
        };
        let (mut table, bytes) = (self.table(), asked_bytes(&call));
        if table.calls.len() >= CALLS_MAX || table.bytes + bytes > QUESTIONS_BYTES_MAX {
            return Err(Fault::Busy);
        }
        table.bytes += bytes;
        let (over, mut watch) = (Cancel::new(), JoinSet::new());
        let (hold, due) = (Hold::new(give_up.clone(), over.clone()), Instant::now() + ANSWER_TIMEOUT);
        let (calls, own) = (Arc::downgrade(self), name.clone());
        let exchange = call.waiting.exchange.clone();
        let id = call.waiting.id;
        watch.spawn(async move {
            let ended = async {
                exchange.pending.answered(id).await;
                // What another call of this client may have asked is still of use to it.
                if calls.upgrade().is_some_and(|calls| calls.needs_no_answer(&own)) {
                    over.cancel();
                }
                std::future::pending().await
            };
            tokio::select! {
                () = ended => {}
                () = sleep_until(due) => give_up(),
            }
        });
        table.calls.insert(name.clone(), Entry { call, due, _watch: watch });
        Ok((name, hold))
    }

    /// Gives a call back, if it is not too late.
    pub(super) fn take(&self, name: &str) -> Option<Call> {
        let mut table = self.table();
        let Entry { call, due, .. } = table.calls.remove(name)?;
        table.bytes -= asked_bytes(&call);
        drop(table);
        (Instant::now() < due).then_some(call)
    }

    /// True if what the call of this name asks can be no other's either, now that it has ended.
    fn needs_no_answer(&self, name: &str) -> bool {
        self.table().calls.get(name).is_some_and(|entry| entry.call.alone_can_have_asked())
    }

    /// True if a call waits under this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.table().calls.contains_key(name)
    }

    /// True if no call waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.table().calls.is_empty()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("nothing panics while it holds the lock")
    }
}

/// How much is asked in a call, in bytes.
fn asked_bytes(call: &Call) -> usize {
    call.open.iter().map(|(_, question): &(String, Question)| question.bytes()).sum()
}

#[cfg(test)]
mod tests {

    use wire::Id;
    use wire::message::Text;

    use super::super::asked::Kind;
    use super::super::exchange::Exchange;
    use super::super::transport::Transport;
    use super::*;

    /// Makes calls of which nothing is sent, since nobody polls them, and their exchange.
    fn calls() -> (impl Fn() -> Call, Arc<Exchange>) {
        let transport = Transport::unsent();
        let exchange = transport.exchange.clone();
        let call = move || Call::ask(&transport, "tools/call", b"{}", false).expect("open");
        (call, exchange)
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_kept_until_its_time_is_up_or_nobody_holds_it() {
        let (call, exchange) = calls();
        let suspended = Arc::new(SuspendedCalls::default());
        let [one, two, three] = [(); 3].map(|()| suspended.put(call()).expect("room"));
        // What is left may be come back to.
        two.1.leave();
        drop((two.1, three.1));
        let check = |expected: [bool; 3]| {
            assert_eq!([&one.0, &two.0, &three.0].map(|name| suspended.has(name)), expected);
            assert_eq!([1, 2, 3].map(|id| exchange.pending.is_open(id)), expected);
        };
        check([true, true, false]);
        tokio::time::sleep(ANSWER_TIMEOUT - Duration::from_millis(1)).await;
        check([true, true, false]);
        tokio::time::sleep(Duration::from_millis(2)).await;
        check([false; 3]);
    }

    #[tokio::test]
    async fn there_is_an_end_to_suspended_calls_and_each_is_given_back_once() {
        let (call, exchange) = calls();
        let suspended = Arc::new(SuspendedCalls::default());
        let put = |call: Call| {
            let (name, hold) = suspended.put(call)?;
            hold.leave();
            Ok::<_, Fault>(name)
        };
        let names: Vec<_> = (0..CALLS_MAX).map(|_| put(call()).expect("room")).collect();
        assert_eq!(put(call()).err(), Some(Fault::Busy));
        assert!(suspended.take(&names[0]).is_some());
        assert!(suspended.take(&names[0]).is_none());
        let again = put(call()).expect("room");
        assert!(!names.contains(&again));
        let text = format!("\"{}\"", "x".repeat(QUESTIONS_BYTES_MAX / 2));
        let large = Text::check(text.into()).expect("JSON");
        drop(suspended.take(&names[1]));
        drop(suspended.take(&names[2]));
        let asking = || {
            let (id, kind, params) = (Id::number(1), Kind::Roots, Some(large.clone()));
            let mut call = call();
            call.add(Question { id, kind, params, of: None }, 7);
            call
        };
        let one = put(asking()).expect("room for one");
        assert_eq!(put(asking()).err(), Some(Fault::Busy));
        drop(suspended.take(&one));
        assert!(put(asking()).is_ok(), "there is room again");
        drop(suspended);
        assert!(
            (1..=5 + CALLS_MAX as u64).all(|id| !exchange.pending.is_open(id)),
            "they are given up with the table"
        );
    }
}

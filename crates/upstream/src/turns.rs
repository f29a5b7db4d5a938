//! Turns: how many calls a server gets at once. Those beyond wait: the callers one after the other, and the calls of each
//! in the order in which they came. So a caller with a hundred calls delays another one by one call.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

/// Calls that wait for their turn on one server. More than these is a server that will not keep up.
const WAITING_MAX: usize = 1_024;

/// How long a call that goes on with its client's answer waits for another turn. Then it goes on without one: a server
/// that does one thing after another may look at nothing else before it has that answer.
const AGAIN_MAX: Duration = Duration::from_secs(2);

/// One call's turn; it is over when the last clone is dropped. Nothing is in it if there is no limit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn(Option<Arc<Held>>);

impl Turn {
    /// Nothing if there is no limit.
    pub(crate) fn limited(self) -> Option<Turn> {
        self.0.is_some().then_some(self)
    }
}

/// Too many wait already.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

/// The turns of one server.
#[derive(Debug, Default)]
pub(crate) struct Turns(Option<Arc<Queue>>);

impl Turns {
    /// As many at once as `limit` says; any number if there is none.
    pub(crate) fn new(limit: Option<u16>) -> Turns {
        let queue = |limit| {
            let lines = Lines { free: usize::from(limit), ..Lines::default() };
            Arc::new(Queue(Mutex::new(lines)))
        };
        Turns(limit.map(queue))
    }

    /// True if there is a limit.
    pub(crate) fn are_limited(&self) -> bool {
        self.0.is_some()
    }

    /// How many calls wait.
    pub(crate) fn waiting(&self) -> usize {
        self.0.as_ref().map_or(0, |queue| queue.lines().waiting)
    }

    /// A turn for a call that gave its own back while its client was asked; none if none is free soon.
    pub(crate) async fn take_again(&self, caller: &Arc<str>) -> Turn {
        match timeout(AGAIN_MAX, self.take(caller)).await {
            Ok(Ok(turn)) => turn,
            Ok(Err(TooMany)) | Err(_) => Turn::default(),
        }
    }

    /// Waits for a turn of this caller, without a limit of its own: dropping the future gives up.
    ///
    /// # Errors
    /// Too many wait already.
    pub(crate) async fn take(&self, caller: &Arc<str>) -> Result<Turn, TooMany> {
        let Some(queue) = &self.0 else { return Ok(Turn(None)) };
        let (number, called) = {
            let mut lines = queue.lines();
            if lines.free > 0 {
                lines.free -= 1;
                return Ok(Turn(Some(Arc::new(Held(Some(queue.clone()))))));
            }
            lines.join(caller)?
        };
        let _waiting = Waiting { queue, caller, number };
        let held = called.await.expect("who waits is taken out of the line only with a turn, or by itself");
        Ok(Turn(Some(Arc::new(held))))
    }
}

/// Who waits for one server.
#[derive(Debug)]
struct Queue(Mutex<Lines>);

/// While somebody waits, no turn is free.
#[derive(Debug, Default)]
struct Lines {
    free: usize,
    waiting: usize,
    /// The number of the next one who waits.
    next: u64,
    /// One line for each caller of whom a call waits; whose turn it is stands first.
    lines: VecDeque<Line>,
}

#[derive(Debug)]
struct Line {
    caller: Arc<str>,
    calls: VecDeque<(u64, oneshot::Sender<Held>)>,
}

impl Queue {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a turn that is over to the next one.
    fn pass_on(self: Arc<Queue>) {
        loop {
            // The lock is let go before anything is sent: what comes back unsent takes it again.
            let next = {
                let mut lines = self.lines();
                let next = lines.leave_first();
                if next.is_none() {
                    lines.free += 1;
                }
                next
            };
            let Some(next) = next else { return };
            match next.send(Held(Some(self.clone()))) {
                Ok(()) => return,
                // It has just given up. The turn is still ours, so it must not pass itself on.
                Err(mut unsent) => drop(unsent.0.take()),
            }
        }
    }
}

impl Lines {
    /// Puts a call at the end of its caller's line.
    fn join(&mut self, caller: &Arc<str>) -> Result<(u64, oneshot::Receiver<Held>), TooMany> {
        if self.waiting >= WAITING_MAX {
            return Err(TooMany);
        }
        self.waiting += 1;
        self.next += 1;
        let (call, called) = oneshot::channel();
        let call = (self.next, call);
        match self.lines.iter_mut().find(|line| line.caller == *caller) {
            Some(line) => line.calls.push_back(call),
            None => self.lines.push_back(Line { caller: caller.clone(), calls: VecDeque::from([call]) }),
        }
        Ok((self.next, called))
    }

    /// Takes the next call out, and puts its caller behind all others.
    fn leave_first(&mut self) -> Option<oneshot::Sender<Held>> {
        let mut line = self.lines.pop_front()?;
        let (_, call) = line.calls.pop_front()?;
        self.waiting -= 1;
        if !line.calls.is_empty() {
            self.lines.push_back(line);
        }
        Some(call)
    }

    /// Takes a call out that gives up, if it is still there.
    fn leave(&mut self, caller: &Arc<str>, number: u64) {
        let Some(nth) = self.lines.iter().position(|line| line.caller == *caller) else { return };
        let calls = &mut self.lines[nth].calls;
        let Some(at) = calls.iter().position(|(of, _)| *of == number) else { return };
        calls.remove(at);
        let is_empty = calls.is_empty();
        self.waiting -= 1;
        if is_empty {
            self.lines.remove(nth);
        }
    }
}

/// A turn that is held.
#[derive(Debug)]
struct Held(Option<Arc<Queue>>);

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(queue) = self.0.take() {
            queue.pass_on();
        }
    }
}

/// One who waits.
struct Waiting<'q> {
    queue: &'q Queue,
    caller: &'q Arc<str>,
    number: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.queue.lines().leave(self.caller, self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::{LocalBoxFuture, join_all};

    use super::*;

    fn caller(name: &str) -> Arc<str> {
        name.into()
    }

    #[tokio::test]
    async fn turns_of_one_caller_are_given_in_the_order_in_which_they_are_asked_for() {
        let (turns, a) = (Turns::new(Some(2)), caller("a"));
        let (one, two) = (turns.take(&a).await.expect("free"), turns.take(&a).await.expect("free"));
        let (mut third, mut fourth) = (Box::pin(turns.take(&a)), Box::pin(turns.take(&a)));
        assert!((&mut third).now_or_never().is_none() && (&mut fourth).now_or_never().is_none());
        // It is over with the last that holds it.
        let held = one.clone();
        drop(one);
        assert!((&mut third).now_or_never().is_none());
        drop(held);
        assert!((&mut fourth).now_or_never().is_none(), "it is not its turn");
        let third = (&mut third).now_or_never().expect("free").expect("room");
        // One who gives up makes way.
        drop(fourth);
        drop(two);
        assert!(turns.take(&a).now_or_never().is_some());
        drop(third);
    }

    type Call<'t> = LocalBoxFuture<'t, Result<Turn, TooMany>>;

    /// The call that has its turn, which must be the only one.
    fn next(calls: &mut [Option<Call<'_>>]) -> Option<(usize, Turn)> {
        let mut got = calls.iter_mut().enumerate().filter_map(|(nth, call)| {
            let turn = call.as_mut()?.now_or_never()?;
            *call = None;
            Some((nth, turn.expect("room")))
        });
        let first = got.next();
        assert!(got.next().is_none(), "one at a time");
        first
    }

    /// In which order calls get the only turn, if they wait in this one: `a` is a call of caller a.
    #[track_caller]
    fn check(waiting: &str, expected: &str) {
        let turns = Turns::new(Some(1));
        let callers: Vec<Arc<str>> = waiting.chars().map(|name| caller(&name.to_string())).collect();
        let other = caller("holds it");
        let mut held = turns.take(&other).now_or_never().expect("free").expect("room");
        let mut calls: Vec<Option<Call<'_>>> =
            callers.iter().map(|name| Some(turns.take(name).boxed_local())).collect();
        assert!(next(&mut calls).is_none());
        let mut order = String::new();
        for _ in 0..calls.len() {
            drop(std::mem::take(&mut held));
            let (nth, turn) = next(&mut calls).expect("somebody is next");
            order.push_str(&callers[nth]);
            held = turn;
        }
        assert_eq!(order, expected);
    }

    #[test]
    fn callers_take_turns_however_many_calls_each_has() {
        check("aaaab", "abaaa");
        check("aaabbbc", "abcabab");
        check("abc", "abc");
        check(&format!("{}b", "a".repeat(100)), &format!("ab{}", "a".repeat(99)));
    }

    #[tokio::test]
    async fn who_gives_up_with_a_turn_in_the_post_passes_it_on() {
        let (turns, a, b) = (Turns::new(Some(1)), caller("a"), caller("b"));
        let held = turns.take(&a).await.expect("free");
        let (mut first, mut second) = (Box::pin(turns.take(&a)), Box::pin(turns.take(&b)));
        assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none());
        drop(held);
        // It has been sent the turn and never looked.
        drop(first);
        let second = (&mut second).now_or_never().expect("passed on").expect("room");
        assert!(turns.take(&a).now_or_never().is_none());
        drop(second);
        assert!(turns.take(&a).now_or_never().is_some());
    }

    #[tokio::test]
    async fn there_is_an_end_to_those_who_wait() {
        let (turns, a) = (Turns::new(Some(1)), caller("a"));
        let held = turns.take(&a).await.expect("free");
        let mut waiting: Vec<_> = (0..WAITING_MAX).map(|_| Box::pin(turns.take(&a))).collect();
        assert!(waiting.iter_mut().all(|one| one.now_or_never().is_none()));
        assert_eq!(turns.take(&a).await.err(), Some(TooMany));
        drop(waiting.pop());
        let mut again = Box::pin(turns.take(&a));
        assert!((&mut again).now_or_never().is_none());
        waiting.push(again);
        drop(held);
        let all = join_all(waiting.into_iter().map(|one| async move { one.await.map(drop) })).await;
        assert!(all.iter().all(Result::is_ok));
    }

    #[tokio::test]
    async fn without_a_limit_everybody_is_next() {
        let (turns, a) = (Turns::new(None), caller("a"));
        let all: Vec<_> = (0..10_000).map(|_| turns.take(&a).now_or_never().expect("at once")).collect();
        assert!(all.iter().all(Result::is_ok));
    }
}

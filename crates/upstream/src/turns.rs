//! Turns: how many calls a server gets at once. Those beyond wait, first come, first served.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Calls that wait for their turn on one server. More than these is a server that will not keep up.
const WAITING_MAX: usize = 1_024;

/// How long a call that goes on with its client's answer waits for another turn. Then it goes on without one: a server
/// that does one thing after another may look at nothing else before it has that answer.
const AGAIN_MAX: Duration = Duration::from_secs(2);

/// One call's turn; it is over when the last clone is dropped. Nothing is in it if there is no limit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn(Option<Arc<OwnedSemaphorePermit>>);

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
pub(crate) struct Turns(Option<Queue>);

#[derive(Debug)]
struct Queue {
    free: Arc<Semaphore>,
    waiting: AtomicUsize,
}

impl Turns {
    /// As many at once as `limit` says; any number if there is none.
    pub(crate) fn new(limit: Option<u16>) -> Turns {
        let queue = |limit| Queue { free: Arc::new(Semaphore::new(limit)), waiting: AtomicUsize::new(0) };
        Turns(limit.map(usize::from).map(queue))
    }

    /// True if there is a limit.
    pub(crate) fn are_limited(&self) -> bool {
        self.0.is_some()
    }

    /// A turn for a call that gave its own back while its client was asked; none if none is free soon.
    pub(crate) async fn take_again(&self) -> Turn {
        match timeout(AGAIN_MAX, self.take()).await {
            Ok(Ok(turn)) => turn,
            Ok(Err(TooMany)) | Err(_) => Turn::default(),
        }
    }

    /// Waits for a turn, without a limit of its own: dropping the future gives up.
    ///
    /// # Errors
    /// Too many wait already.
    pub(crate) async fn take(&self) -> Result<Turn, TooMany> {
        let Some(queue) = &self.0 else { return Ok(Turn(None)) };
        if let Ok(permit) = queue.free.clone().try_acquire_owned() {
            return Ok(Turn(Some(Arc::new(permit))));
        }
        let _waiting = Waiting::begin(&queue.waiting)?;
        let permit = queue.free.clone().acquire_owned().await;
        Ok(Turn(Some(Arc::new(permit.expect("nobody closes the semaphore")))))
    }
}

/// One who waits.
struct Waiting<'q>(&'q AtomicUsize);

impl<'q> Waiting<'q> {
    fn begin(waiting: &'q AtomicUsize) -> Result<Waiting<'q>, TooMany> {
        let more = |waiting| (waiting < WAITING_MAX).then_some(waiting + 1);
        let begun = waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        begun.map(|_| Waiting(waiting)).map_err(|_| TooMany)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn turns_are_given_in_the_order_in_which_they_are_asked_for() {
        let turns = Turns::new(Some(2));
        let (one, two) = (turns.take().await.expect("free"), turns.take().await.expect("free"));
        let (mut third, mut fourth) = (Box::pin(turns.take()), Box::pin(turns.take()));
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
        assert!(turns.take().now_or_never().is_some());
        drop(third);
    }

    #[tokio::test]
    async fn there_is_an_end_to_those_who_wait() {
        let turns = Turns::new(Some(1));
        let held = turns.take().await.expect("free");
        let mut waiting: Vec<_> = (0..WAITING_MAX).map(|_| Box::pin(turns.take())).collect();
        assert!(waiting.iter_mut().all(|one| one.now_or_never().is_none()));
        assert_eq!(turns.take().await.err(), Some(TooMany));
        drop(waiting.pop());
        let mut again = Box::pin(turns.take());
        assert!((&mut again).now_or_never().is_none());
        waiting.push(again);
        drop(held);
        let all = join_all(waiting.into_iter().map(|one| async move { one.await.map(drop) })).await;
        assert!(all.iter().all(Result::is_ok));
    }

    #[tokio::test]
    async fn without_a_limit_everybody_is_next() {
        let turns = Turns::new(None);
        let all: Vec<_> = (0..10_000).map(|_| turns.take().now_or_never().expect("at once")).collect();
        assert!(all.iter().all(Result::is_ok));
    }
}

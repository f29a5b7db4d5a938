//! Concurrency slots: how many calls a server gets at once. Those beyond wait, first come, first served.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Calls that wait for a slot of one server. More than these is a server that will not keep up.
const WAITING_MAX: usize = 1_024;

/// One call's slot, given back when the last clone is dropped; nothing if there is no limit.
pub(crate) type CallSlot = Option<Arc<OwnedSemaphorePermit>>;

/// The slots of one server.
#[derive(Debug, Default)]
pub(crate) struct CallSlots {
    /// Nothing if there is no limit.
    free: Option<Arc<Semaphore>>,
    waiting: AtomicUsize,
}

impl CallSlots {
    /// As many calls at once as `limit` says; any number if there is none.
    pub(crate) fn new(limit: Option<u16>) -> CallSlots {
        let free = limit.map(|limit| Arc::new(Semaphore::new(limit.into())));
        CallSlots { free, waiting: AtomicUsize::new(0) }
    }

    pub(crate) fn are_limited(&self) -> bool {
        self.free.is_some()
    }

    /// How many calls wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Waits for a slot, without a limit of its own: dropping the future gives up. Nothing if too many wait already.
    pub(crate) async fn acquire(&self) -> Option<CallSlot> {
        let Some(free) = &self.free else { return Some(None) };
        if let Ok(permit) = free.clone().try_acquire_owned() {
            return Some(Some(Arc::new(permit)));
        }
        let counted = Waiting(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= WAITING_MAX {
            return None;
        }
        let permit = free.clone().acquire_owned().await.expect("nobody closes the semaphore");
        drop(counted);
        Some(Some(Arc::new(permit)))
    }
}

/// Counts one waiting call less when it is dropped.
struct Waiting<'s>(&'s AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn slots_are_given_in_the_order_in_which_they_are_asked_for() {
        let slots = CallSlots::new(Some(2));
        let (one, two) = (slots.acquire().await.expect("free"), slots.acquire().await.expect("free"));
        let (mut third, mut fourth) = (Box::pin(slots.acquire()), Box::pin(slots.acquire()));
        assert!((&mut third).now_or_never().is_none() && (&mut fourth).now_or_never().is_none());
        assert_eq!(slots.waiting(), 2);
        // It is given back with the last that holds it.
        let held = one.clone();
        drop(one);
        assert!((&mut third).now_or_never().is_none());
        drop(held);
        assert!((&mut fourth).now_or_never().is_none(), "the third comes first");
        let third = (&mut third).now_or_never().expect("free").expect("room");
        // One that gives up makes way.
        drop(fourth);
        drop(two);
        assert_eq!(slots.waiting(), 0);
        assert!(slots.acquire().now_or_never().is_some());
        drop(third);
    }

    #[tokio::test]
    async fn there_is_an_end_to_those_that_wait() {
        let slots = CallSlots::new(Some(1));
        let held = slots.acquire().await.expect("free");
        let mut waiting: Vec<_> = (0..WAITING_MAX).map(|_| Box::pin(slots.acquire())).collect();
        assert!(waiting.iter_mut().all(|one| one.now_or_never().is_none()));
        assert!(slots.acquire().await.is_none());
        drop(waiting.pop());
        assert!(slots.acquire().now_or_never().is_none(), "there is room to wait again");
        drop((held, waiting));
        assert!(slots.acquire().now_or_never().is_some());
    }

    #[tokio::test]
    async fn without_a_limit_nobody_waits() {
        let slots = CallSlots::new(None);
        let all: Vec<_> = (0..10_000).map(|_| slots.acquire().now_or_never().expect("at once")).collect();
        assert!(all.iter().all(Option::is_some));
    }
}

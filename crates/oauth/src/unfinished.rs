//! `Unfinished`: what would be lost if the program ended just now. A refresh token is used up as soon as it is sent; what
//! comes for it has to be waited for, and kept.

use std::time::Duration;

use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// How long an end is put off. Longer than a look-up, a request and the disk take, each at its own limit.
const FINISH_TIME_MAX: Duration = Duration::from_secs(20);

/// Counts what must not be cut off. Clones share the count.
#[derive(Debug, Clone, Default)]
pub struct Unfinished(TaskTracker);

/// A piece of work that must not be cut off, until it is dropped.
pub type Piece = TaskTrackerToken;

impl Unfinished {
    /// Begins a piece of work; nothing if the program is ending.
    pub fn begin(&self) -> Option<Piece> {
        let piece = self.0.token();
        // An end that comes between the two waits for the piece all the same.
        (!self.0.is_closed()).then_some(piece)
    }

    /// True while there is something to be waited for.
    pub fn is_there(&self) -> bool {
        !self.0.is_empty()
    }

    /// Has nothing more begin, and waits until all is done that has begun, for at most 20 seconds. False if that was
    /// not enough.
    pub async fn finish(&self) -> bool {
        self.0.close();
        timeout(FINISH_TIME_MAX, self.0.wait()).await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_end_waits_for_what_has_begun_and_lets_nothing_else_begin() {
        let unfinished = Unfinished::default();
        let (one, other) = (unfinished.begin(), unfinished.clone().begin());
        assert!(one.is_some() && other.is_some() && unfinished.is_there());
        drop(one);
        let mut end = Box::pin(unfinished.finish());
        assert_eq!((&mut end).now_or_never(), None);
        assert!(unfinished.begin().is_none());
        drop(other);
        assert_eq!(end.now_or_never(), Some(true));
        assert!(!unfinished.is_there());
    }

    #[tokio::test(start_paused = true)]
    async fn an_end_does_not_wait_for_ever() {
        let unfinished = Unfinished::default();
        let _piece = unfinished.begin();
        let begun = Instant::now();
        assert!(!unfinished.finish().await);
        assert_eq!(begun.elapsed(), FINISH_TIME_MAX);
    }
}

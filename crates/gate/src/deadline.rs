//! When a call has had its time. Progress starts the time anew where the tool allows it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use tool_api::{Listener, Progress};

/// The end of one call's time.
pub(crate) struct Deadline {
    limit: Duration,
    /// Whatever progress it reports.
    limit_max: Duration,
    start: Instant,
    extended: Option<Arc<Extending>>,
    direct: Option<Arc<dyn Listener>>,
}

/// Passes progress on and remembers when it came.
struct Extending {
    start: Instant,
    last_ms: AtomicU64,
    next: Option<Arc<dyn Listener>>,
}

impl Listener for Extending {
    fn progress(&self, progress: Progress) {
        let since = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.fetch_max(since, Ordering::Relaxed);
        if let Some(next) = &self.next {
            next.progress(progress);
        }
    }

    fn log(&self, params: Bytes) {
        if let Some(next) = &self.next {
            next.log(params);
        }
    }
}

impl Deadline {
    pub(crate) fn new(
        limit: Duration,
        extends_to: Option<Duration>,
        listener: Option<Arc<dyn Listener>>,
    ) -> Deadline {
        let start = Instant::now();
        let Some(limit_max) = extends_to.filter(|limit_max| *limit_max > limit) else {
            return Deadline { limit, limit_max: limit, start, extended: None, direct: listener };
        };
        let extending = Extending { start, last_ms: AtomicU64::new(0), next: listener };
        Deadline { limit, limit_max, start, extended: Some(Arc::new(extending)), direct: None }
    }

    pub(crate) fn listener(&self) -> Option<Arc<dyn Listener>> {
        match &self.extended {
            Some(extending) => Some(extending.clone()),
            None => self.direct.clone(),
        }
    }

    /// Resolves when the time is up, and tells how much it was: since the last sign of life, or in all.
    pub(crate) async fn passed(&self) -> Duration {
        loop {
            let last =
                self.extended.as_ref().map_or(0, |extending| extending.last_ms.load(Ordering::Relaxed));
            let extended = Duration::from_millis(last) + self.limit;
            let limit = extended.min(self.limit_max);
            if self.start.elapsed() >= limit {
                return if extended > self.limit_max { self.limit_max } else { self.limit };
            }
            tokio::time::sleep_until(self.start + limit).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many seconds a call is over that reports progress every `every_s`, and how long it is said to have had.
    #[track_caller]
    fn check(extends_to_s: Option<u64>, every_s: Option<u64>, over_after_s: u64, had_s: u64) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(async {
            let limit = Duration::from_secs(10);
            let deadline = Deadline::new(limit, extends_to_s.map(Duration::from_secs), None);
            let listener = deadline.listener();
            let reporting = async {
                let Some(every_s) = every_s else { return std::future::pending().await };
                loop {
                    tokio::time::sleep(Duration::from_secs(every_s)).await;
                    let step = Progress::Step { done: 1.0, total: None, message: None };
                    listener.iter().for_each(|listener| listener.progress(step.clone()));
                }
            };
            let begun = Instant::now();
            let limit = tokio::select! {
                limit = deadline.passed() => limit,
                () = reporting => unreachable!("it goes on for ever"),
            };
            let (over, had) = (begun.elapsed().as_secs(), limit.as_secs());
            assert_eq!((over, had), (over_after_s, had_s), "{extends_to_s:?} {every_s:?}");
        });
    }

    #[test]
    fn progress_starts_the_time_anew_up_to_the_longest() {
        check(None, None, 10, 10);
        check(None, Some(4), 10, 10);
        check(Some(60), None, 10, 10);
        check(Some(60), Some(4), 60, 60);
        // Its last sign of life came before the first look.
        check(Some(60), Some(11), 10, 10);
        check(Some(25), Some(9), 25, 25);
        // A longest time that is none leaves the call its own.
        check(Some(5), Some(4), 10, 10);
    }
}

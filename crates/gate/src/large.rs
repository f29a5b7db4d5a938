//! Work on large values, away from the thread that reads requests and answers them.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, ready};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tool_api::{CallId, Listener, Progress};

use crate::failure::Internal;

/// A value up to this size is looked at where it is: that takes less than some milliseconds, and a wake-up across cores
/// costs more than most calls do in all.
pub(crate) const INLINE_BYTES_MAX: usize = 256 * 1024;

/// Large values that are looked at at a time. Each may be there several times over, at 32 MiB and more.
const AT_ONCE_MAX: usize = 4;

/// Where large values are looked at.
pub(crate) struct Large(Arc<Semaphore>);

impl Default for Large {
    fn default() -> Large {
        Large(Arc::new(Semaphore::new(AT_ONCE_MAX)))
    }
}

impl Large {
    /// Does the work on a value of this size where it is, or on another thread if it is large.
    pub(crate) fn sized<T: Send + 'static>(
        &self,
        bytes: usize,
        call: CallId,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, Internal>> {
        match bytes > INLINE_BYTES_MAX {
            true => Either::Left(self.think(call, work)),
            false => Either::Right(ready(Ok(work()))),
        }
    }

    /// Does the work on another thread. Boxed, so that calls of the usual size hold no room for it.
    ///
    /// # Errors
    /// The program ends before it begins.
    pub(crate) fn think<T: Send + 'static>(
        &self,
        call: CallId,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> BoxFuture<'static, Result<T, Internal>> {
        let slots = self.0.clone();
        async move {
            let slot = slots.acquire_owned().await.map_err(|_| Internal { call })?;
            let done = spawn_blocking(move || {
                let done = work();
                drop(slot);
                done
            });
            done.await.map_err(|error| match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Internal { call },
            })
        }
        .boxed()
    }
}

/// Leaves out progress and log messages that are large: they are cleaned on the thread that answers requests, and a
/// person reads none of that length.
pub(crate) fn listener(next: Arc<dyn Listener>) -> Arc<dyn Listener> {
    Arc::new(Bounded(next))
}

struct Bounded(Arc<dyn Listener>);

impl Listener for Bounded {
    fn progress(&self, progress: Progress) {
        let bytes = match &progress {
            Progress::Step { message, .. } => message.as_ref().map_or(0, String::len),
            Progress::Relayed(params) => params.len(),
        };
        if is_passed_on(bytes) {
            self.0.progress(progress);
        }
    }

    fn log(&self, params: Bytes) {
        if is_passed_on(params.len()) {
            self.0.log(params);
        }
    }
}

fn is_passed_on(bytes: usize) -> bool {
    let is_large = bytes > INLINE_BYTES_MAX;
    if is_large {
        tracing::warn!(bytes, "a progress or log message of a running call is left out: it is too long");
    }
    !is_large
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Default)]
    struct Heard(Mutex<Vec<usize>>);

    impl Listener for Heard {
        fn progress(&self, progress: Progress) {
            let bytes = match progress {
                Progress::Step { message, .. } => message.map_or(0, |message| message.len()),
                Progress::Relayed(params) => params.len(),
            };
            self.0.lock().unwrap().push(bytes);
        }

        fn log(&self, params: Bytes) {
            self.0.lock().unwrap().push(params.len());
        }
    }

    #[test]
    fn large_messages_are_left_out() {
        let heard = Arc::new(Heard::default());
        let bounded = listener(heard.clone());
        for bytes in [1, INLINE_BYTES_MAX, INLINE_BYTES_MAX + 1] {
            let message = Some("m".repeat(bytes));
            bounded.progress(Progress::Step { done: 1.0, total: None, message });
            bounded.progress(Progress::Relayed(vec![b'p'; bytes].into()));
            bounded.log(vec![b'l'; bytes].into());
        }
        bounded.progress(Progress::Step { done: 1.0, total: None, message: None });
        assert_eq!(
            *heard.0.lock().unwrap(),
            [[1; 3], [INLINE_BYTES_MAX; 3]].concat().into_iter().chain([0]).collect::<Vec<_>>()
        );
    }
}

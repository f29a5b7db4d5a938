//! Work on large values, away from the thread that reads requests and answers them.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

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
    /// Does the work on a value of this size on another thread; nothing if the program ends before it begins.
    pub(crate) async fn think<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let slot = self.0.clone().acquire_owned().await.ok()?;
        let done = spawn_blocking(move || {
            let done = work();
            drop(slot);
            done
        });
        match done.await {
            Ok(done) => Some(done),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => None,
            },
        }
    }
}

//! The one async runtime: a single thread, which reads requests and answers them itself.

use std::io;
use std::time::Duration;

use tokio::runtime::Builder;

/// How long work on other threads may still take when the program ends. Whatever must not be lost has been
/// waited for by then.
const LEFTOVERS_MAX: Duration = Duration::from_millis(100);

/// Runs a future to its end.
///
/// # Errors
/// If the system has no room for another event queue.
pub(crate) fn run<T>(work: impl Future<Output = T>) -> io::Result<T> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(LEFTOVERS_MAX);
    Ok(done)
}

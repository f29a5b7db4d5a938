//! Two pieces of work at the same time, of which one waits for the disk.

use std::panic::resume_unwind;
use std::thread;

/// Does one thing here, and the other on a thread of its own; where the system gives no thread, one after the other.
pub(super) fn at_once<H, A: Send>(here: impl FnOnce() -> H, aside: impl Fn() -> A + Sync) -> (H, A) {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("aside".to_owned()).spawn_scoped(scope, &aside);
        let done = here();
        let beside = match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => aside(),
        };
        (done, beside)
    })
}

//! The one async runtime: a single thread, which reads requests and answers them itself.

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use oauth::Unfinished;
use tokio::runtime::Builder;

use crate::print;
use crate::signals::Signals;

/// How long work on other threads may still take when the program ends. Whatever must not be lost has been
/// waited for by then.
const LEFTOVERS_MAX: Duration = Duration::from_millis(100);

/// Setting a timer that is nearer than all others makes the runtime wake itself: a write to an eventfd, which the next wait
/// reads, in each call that has a deadline. With one that is always nearer than theirs it does not.
const NEAREST_TIMER: Duration = Duration::from_secs(5);

tokio::task_local! {
    /// What has to be waited for before the run ends, whichever way it ends.
    static UNFINISHED: Unfinished;
}

/// Runs a future to its end, and then what it has begun that must not be lost.
///
/// # Errors
/// If the system has no room for another event queue.
pub fn run<T>(work: impl Future<Output = T>) -> io::Result<T> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let unfinished = Unfinished::default();
    // Boxed, or it would lie on the stack several times over, once for each function that hands it on.
    let work = Box::pin(UNFINISHED.scope(unfinished.clone(), work));
    let done = runtime.block_on(async {
        // It goes with the runtime.
        tokio::spawn(keep_a_timer_near());
        let done = work.await;
        if unfinished.is_there() {
            announce();
        }
        if !unfinished.finish().await {
            tracing::error!("a sign-in may be lost: its renewal took too long to be waited for");
        }
        done
    });
    runtime.shutdown_timeout(LEFTOVERS_MAX);
    Ok(done)
}

async fn keep_a_timer_near() {
    loop {
        tokio::time::sleep(NEAREST_TIMER).await;
    }
}

/// Says why the program does not end yet, and has two signals end it all the same.
fn announce() {
    const WAITING: &str = "waiting for a sign-in to be renewed and kept, which would be lost otherwise";
    match io::stderr().is_terminal() {
        true => print::remark(WAITING),
        false => tracing::info!("{WAITING}"),
    }
    // Where nobody can listen, a signal ends the program by itself.
    if let Ok(signals) = Signals::listen() {
        tokio::spawn(signals.stop());
    }
}

/// What the run has to wait for that this is part of; to be asked for by its own task, not by one of those it spawns.
pub fn unfinished() -> Unfinished {
    UNFINISHED.try_with(Unfinished::clone).unwrap_or_default()
}

/// Does work as part of the run that `unfinished` belongs to, in whatever task.
pub fn as_part_of<T>(unfinished: &Unfinished, work: impl FnOnce() -> T) -> T {
    UNFINISHED.sync_scope(unfinished.clone(), work)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_run_ends_when_what_must_not_be_lost_is_done() {
        let is_done = Arc::new(AtomicBool::new(false));
        let done = is_done.clone();
        let ended = run(async move {
            let piece = unfinished().begin().expect("nothing ends yet");
            tokio::spawn(async move {
                for _ in 0..100 {
                    tokio::task::yield_now().await;
                }
                done.store(true, Ordering::Relaxed);
                drop(piece);
            });
            "at once"
        });
        assert_eq!(ended.expect("a runtime"), "at once");
        assert!(is_done.load(Ordering::Relaxed));
    }
}

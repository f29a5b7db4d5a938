//! `Renewal`: the looks at a server's lists that somebody waits for, since the time is over for which the server said that
//! they stay good.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// How long whoever lists waits for lists that are read again, from when that began: a server that hangs costs one list
/// this once. What is read later comes as a change of the list.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// The looks at lists that somebody wants.
#[derive(Debug, Default)]
pub(crate) struct Renewal(watch::Sender<Looks>);

#[derive(Debug, Default)]
struct Looks {
    wanted: u64,
    done: u64,
    /// When the last one was wanted.
    since: Option<Instant>,
}

impl Renewal {
    /// Resolves once the lists have been read again, or that has taken too long. One look is for all who want it meanwhile.
    pub(crate) async fn wait(&self) {
        let mut looks = self.0.subscribe();
        self.0.send_if_modified(|looks| {
            let is_first = looks.wanted == looks.done;
            if is_first {
                (looks.wanted, looks.since) = (looks.wanted + 1, Some(Instant::now()));
            }
            is_first
        });
        let (wanted, since) = {
            let looks = looks.borrow();
            (looks.wanted, looks.since)
        };
        let done = looks.wait_for(|looks| looks.done >= wanted);
        let until = since.unwrap_or_else(Instant::now) + WAIT_MAX;
        // Whoever has waited long enough goes by what is known.
        let _ = timeout_at(until, done).await;
    }

    /// Resolves when somebody wants a look.
    pub(crate) async fn wanted(&self) {
        // The sender is here, so the wait cannot fail.
        let _ = self.0.subscribe().wait_for(|looks| looks.wanted > looks.done).await;
    }

    /// The lists have been read.
    pub(crate) fn done(&self) {
        self.0.send_modify(|looks| looks.done = looks.wanted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_look_is_for_all_and_one_that_hangs_costs_a_second() {
        let renewal = Renewal::default();
        let waited = async || {
            let begun = Instant::now();
            renewal.wait().await;
            begun.elapsed()
        };
        let look = async {
            renewal.wanted().await;
            tokio::time::sleep(Duration::from_millis(300)).await;
            renewal.done();
        };
        let (first, second, ()) = tokio::join!(waited(), waited(), look);
        assert_eq!((first, second), (Duration::from_millis(300), Duration::from_millis(300)));
        assert_eq!(waited().await, WAIT_MAX);
        assert_eq!(waited().await, Duration::ZERO, "it was waited for in vain");
        renewal.done();
        assert_eq!(waited().await, WAIT_MAX, "the next look");
    }
}

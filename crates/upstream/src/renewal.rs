//! `Renewal`: lists are read again for whoever lists, once the time is over for which their server said that they stay
//! good.

use std::sync::Weak;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use tool_api::Freshness;

use crate::clock::now_ms;
use crate::kind::Kind;
use crate::upstream::Upstream;

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
    async fn wait(&self) {
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
    async fn wanted(&self) {
        // The sender is here, so the wait cannot fail.
        let _ = self.0.subscribe().wait_for(|looks| looks.wanted > looks.done).await;
    }

    fn done(&self) {
        self.0.send_modify(|looks| looks.done = looks.wanted);
    }
}

/// Reads the lists again whenever somebody wants that.
pub(crate) async fn renew(upstream: &Weak<Upstream>) {
    let Some(renewal) = upstream.upgrade().map(|upstream| upstream.renewal.clone()) else { return };
    // They have just been read.
    renewal.done();
    loop {
        renewal.wanted().await;
        let Some(upstream) = upstream.upgrade() else { return };
        let Some(lists) = upstream.lists() else { return };
        for kind in Kind::REFRESHED.into_iter().filter(|&kind| lists.has(kind)) {
            // What cannot be read stays as it was.
            upstream.refresh(kind).await;
        }
        // Those who carry the offer on have been woken by now, and before whoever waits for this.
        renewal.done();
    }
}

impl Freshness for Upstream {
    fn good_for(&self) -> Option<Duration> {
        let offer = self.offers.borrow();
        let ttl_ms = offer.ttl_ms?;
        // A clock that was set back makes nothing good.
        let age_ms = u64::try_from(now_ms().saturating_sub(offer.fetched_at_ms?)).unwrap_or(u64::MAX);
        Some(Duration::from_millis(ttl_ms.saturating_sub(age_ms)))
    }

    fn renewed(&self) -> BoxFuture<'_, ()> {
        async {
            // What is not connected is asked when it is.
            if self.live_connection().is_some() {
                self.renewal.wait().await;
            }
        }
        .boxed()
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

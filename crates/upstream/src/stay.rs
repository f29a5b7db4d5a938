//! Staying connected: coming back to a server that ended or was never there, and looking in on one that may have
//! become another without a word.

use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::sleep;

use crate::Upstream;
use crate::backoff::{self, Chance};
use crate::connection::{Exchange, Heard};
use crate::error::ConnectError;
use crate::listing::Kind;
use crate::settings::Endpoint;
use crate::start::{Demand, Starts};

/// A connection that held for less counts as a failure: a server that dies of its first request would else be
/// started without end.
const GOOD_LIFE: Duration = Duration::from_secs(60);

/// A server at an address may be replaced behind our back, and some tell nothing unasked: its lists are read
/// again after about this long.
const LOOK_IN: Duration = Duration::from_secs(5 * 60);

/// How many connections in a row were over too soon.
#[derive(Debug, Default)]
pub(crate) struct Lives {
    short: u32,
}

impl Lives {
    /// Counts a connection that held for `life`.
    pub(crate) fn ended(&mut self, life: Duration) {
        self.short = if life < GOOD_LIFE { self.short.saturating_add(1) } else { 0 };
    }
}

impl Starts {
    /// How often it has failed in a row, for whoever comes back.
    fn failures(&self) -> u32 {
        let failures = self.lives.short;
        if self.has_failed() { after_failure(failures) } else { failures }
    }
}

/// One more. After a connection that is over the next is tried at once, but not after one that was never made.
fn after_failure(failures: u32) -> u32 {
    failures.max(1).saturating_add(1)
}

impl Upstream {
    /// Connects, however often that takes, and from then on again whenever the connection has ended. Returns when
    /// it is connected for the first time, or never will be.
    pub async fn stay_connected(&self) {
        self.staying.store(true, Ordering::Relaxed);
        come_back(&self.me).await;
    }

    /// True if nobody needs to call for the server to be connected again.
    fn is_wanted(&self) -> bool {
        self.staying.load(Ordering::Relaxed) || !self.subscribed().is_empty()
    }

    /// Looks at all lists again soon.
    fn look_in(&self, exchange: &Exchange) {
        let is_address = matches!(self.settings().endpoint, Endpoint::Address { .. });
        if is_address && self.staying.load(Ordering::Relaxed) {
            let all = [
                (Kind::Tools, Heard::ToolsChanged),
                (Kind::Prompts, Heard::PromptsChanged),
                (Kind::Resources, Heard::ResourcesChanged),
            ];
            let Some(lists) = self.lists() else { return };
            for (_, changed) in all.into_iter().filter(|(kind, _)| lists.has(*kind)) {
                exchange.hear(changed);
            }
        }
    }
}

/// Connects again, if the server is to stay connected or somebody waits for its news; everybody else does so with
/// the next call.
pub(crate) async fn come_back(upstream: &Weak<Upstream>) {
    let Some(mut failures) = upstream.upgrade().map(|upstream| upstream.starts().failures()) else { return };
    loop {
        let Some(closing) = upstream.upgrade().map(|upstream| upstream.closing.clone()) else { return };
        tokio::select! {
            () = sleep(backoff::wait(failures, Chance::draw())) => {}
            () = closing.cancelled() => return,
        }
        let Some(upstream) = upstream.upgrade().filter(|upstream| upstream.is_wanted()) else { return };
        match upstream.connected(Demand::Background).await {
            Ok(_) | Err(ConnectError::Disabled | ConnectError::Ended) => return,
            Err(_) => failures = after_failure(failures),
        }
    }
}

/// Looks in on a server at an address now and then, as long as it is to stay connected.
pub(crate) async fn look_in(upstream: &Weak<Upstream>, exchange: &Exchange) {
    loop {
        sleep(Chance::draw().shorten(LOOK_IN)).await;
        let Some(upstream) = upstream.upgrade() else { return };
        upstream.look_in(exchange);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_lives_wait_longer_and_longer_until_a_good_one() {
        let mut lives = Lives::default();
        let wait_after = |(life_s, expected_s): (u64, u64)| {
            lives.ended(Duration::from_secs(life_s));
            let waits = backoff::wait(lives.short, Chance::longest());
            assert_eq!(waits.as_secs(), expected_s, "{life_s}");
        };
        [(0, 0), (1, 1), (59, 2), (0, 4), (60, 0), (0, 0), (0, 1)].into_iter().for_each(wait_after);
    }
}

//! Connections that nobody uses any more: noticing them, and ending them without disturbing whoever comes just then.
//!
//! Nothing is noted on the way of a call. Whoever wants to know looks now and then at how many calls there have been.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::connection::{Connection, Exchange};

/// How often it is looked within the time that a connection may be idle; it is ended up to this part of it late.
const LOOKS: u32 = 8;

/// The shortest time between two looks.
const LOOK_MIN: Duration = Duration::from_millis(10);

/// Resolves when the connection has had nothing to do for `limit`. It then takes no more calls: one that comes at this
/// very moment is told that it was not sent. `is_busy` knows what keeps it besides its calls.
pub(crate) async fn idle(limit: Duration, exchange: &Exchange, is_busy: impl Fn() -> bool) {
    let look = (limit / LOOKS).max(LOOK_MIN);
    let (mut since, mut seen) = (Instant::now(), exchange.pending.idle_after());
    loop {
        let left = limit.saturating_sub(since.elapsed());
        sleep(left.min(look).max(Duration::from_millis(1))).await;
        let calls = exchange.pending.idle_after();
        let Some(unchanged) = calls.filter(|_| calls == seen && !is_busy()) else {
            (since, seen) = (Instant::now(), calls);
            continue;
        };
        if since.elapsed() >= limit && exchange.end_idle(unchanged) {
            return;
        }
    }
}

/// True if somebody uses the connection, or it is gone: whoever has a call under way on one holds it until that is
/// done. Its keeper and this look hold it, too.
pub(crate) fn is_used(connection: &Weak<Connection>) -> bool {
    connection.upgrade().is_none_or(|open| Arc::strong_count(&open) > 2 || open.is_kept())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use bytes::Bytes;

    use super::*;
    use crate::connection::Caller;
    use crate::fault::Fault;

    fn caller() -> Option<Caller> {
        let capabilities = Bytes::from_static(b"{}");
        Some(Caller { conversation: 1, capabilities, log_level: None, may_be_asked: true, listener: None })
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_calls_or_keeps_it_begins_the_time_anew() {
        let exchange = Exchange::untraced();
        let limit = Duration::from_secs(80);
        let (begun, kept) = (Instant::now(), Cell::new(false));
        let mut idle = Box::pin(super::idle(limit, &exchange, || kept.get()));
        let mut ends_within =
            async |wait_s: u64| tokio::time::timeout(Duration::from_secs(wait_s), &mut idle).await.is_ok();
        assert!(!ends_within(79).await);
        let call = exchange.begin(caller()).expect("open");
        // The call takes its time.
        assert!(!ends_within(200).await);
        drop(call);
        // Requests of our own are nobody's.
        drop(exchange.begin(None).expect("open"));
        assert!(!ends_within(69).await, "after its end the time begins anew");
        kept.set(true);
        assert!(!ends_within(100).await);
        kept.set(false);
        assert!(ends_within(100).await);
        assert!(begun.elapsed() < Duration::from_secs(79 + 200 + 69 + 100 + 91));
        assert!(matches!(exchange.begin(caller()), Err(Fault::NotSent(_))));
        assert!(exchange.closed.is_cancelled());
    }
}

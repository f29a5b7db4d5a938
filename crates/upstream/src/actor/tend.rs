//! Looking after a live connection: reading its lists again when they changed, passing on its news, noticing
//! the end.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::stay;
use crate::connection::{Connection, Exchange, Notice};
use crate::upstream::Upstream;

/// Servers announce several changes at once; they are answered by one look.
const REFRESH_DELAY: Duration = Duration::from_millis(100);

/// Changes that come sooner than this after a look make the next look wait twice as long as the last.
const QUIET: Duration = Duration::from_secs(1);

/// However often a server says that its lists change, they are looked at after this long.
const REFRESH_DELAY_MAX: Duration = Duration::from_secs(5);

/// A disk that is full or busy may not be for long.
const SEE_AGAIN: Duration = Duration::from_secs(2);

/// How often in a row a list is read again that could not be read.
const RETRIES_MAX: u32 = 5;

/// Looks after the connection with `exchange` until it is closed. Holds neither the upstream nor the
/// connection, so that both can be let go.
pub(crate) async fn tend(upstream: Weak<Upstream>, connection: Weak<Connection>, exchange: Arc<Exchange>) {
    let begun = Instant::now();
    let work = async {
        tokio::join!(
            watch_again(&connection),
            stay::look_in(&upstream, &exchange),
            refresh(&upstream, &exchange),
            see_again(&upstream),
            pass_on(&upstream, &connection, &exchange)
        )
    };
    let is_idle = tokio::select! {
        () = stay::idle(&upstream, &connection, &exchange) => true,
        _ = work => false,
        () = exchange.closed.cancelled() => false,
    };
    let Some(me) = upstream.upgrade() else { return };
    if is_idle {
        return me.rest(&exchange, "stopped, since nobody used it");
    }
    if me.comes_back(&exchange, begun.elapsed()) {
        drop(me);
        stay::come_back(&upstream).await;
    }
}

/// Watches on a legacy connection what was watched on the one before; a modern one does so by itself.
async fn watch_again(connection: &Weak<Connection>) {
    if let Some(connection) = connection.upgrade().filter(|connection| !connection.is_modern()) {
        connection.listen().await;
    }
}

/// Reads lists again when they changed, many changes together, and a few times more if that fails.
async fn refresh(upstream: &Weak<Upstream>, exchange: &Exchange) {
    let (mut delay, mut looked, mut failures): (_, Option<Instant>, _) = (REFRESH_DELAY, None, 0);
    loop {
        exchange.notices.change().await;
        delay = match looked {
            Some(looked) if looked.elapsed() < QUIET => (delay * 2).min(REFRESH_DELAY_MAX),
            _ => REFRESH_DELAY,
        };
        sleep(delay).await;
        let changed = exchange.notices.take_changed();
        let Some(upstream) = upstream.upgrade() else { return };
        let mut has_failed = false;
        for kind in changed {
            if !upstream.refresh(kind).await {
                has_failed = true;
                if failures < RETRIES_MAX {
                    exchange.hear(Notice::ListChanged(kind));
                }
            }
        }
        failures = if has_failed && failures < RETRIES_MAX { failures + 1 } else { 0 };
        looked = Some(Instant::now());
    }
}

/// Holds the lists against what was accepted once more after that could not be read or kept.
async fn see_again(upstream: &Weak<Upstream>) {
    loop {
        let Some(pins) = upstream.upgrade().map(|upstream| upstream.pins.clone()) else { return };
        pins.failed().await;
        sleep(SEE_AGAIN).await;
        let Some(upstream) = upstream.upgrade() else { return };
        upstream.take_up_decisions().await;
    }
}

/// Passes on what is told of single things.
pub(crate) async fn pass_on(upstream: &Weak<Upstream>, connection: &Weak<Connection>, exchange: &Exchange) {
    loop {
        for heard in exchange.notices.news().await {
            if let (Notice::Task { id, params }, Some(connection)) = (&heard, connection.upgrade()) {
                connection.note_task(id, params);
            }
            let Some(upstream) = upstream.upgrade() else { return };
            upstream.tell(heard);
        }
    }
}

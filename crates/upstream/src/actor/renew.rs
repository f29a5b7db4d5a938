//! Reading lists again for whoever lists, once they are not good any more.

use std::sync::Weak;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tool_api::Freshness;

use crate::clock::now_ms;
use crate::kind::Kind;
use crate::upstream::Upstream;

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

//! Looking after a live connection: reading the list of tools again when it changed, noticing the end.

use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::Upstream;
use crate::catalogue;
use crate::connection::Exchange;
use crate::listing;
use crate::start::LIST_TIMEOUT;

/// Servers announce several changes at once; they are answered by one look.
const REFRESH_DELAY: Duration = Duration::from_millis(100);

/// Looks after the connection with `exchange` until it is closed. Holds neither the upstream nor the
/// connection, so that both can be let go.
pub(crate) async fn tend(upstream: Weak<Upstream>, exchange: Arc<Exchange>) {
    let until_closed = async {
        loop {
            exchange.changed().await;
            tokio::time::sleep(REFRESH_DELAY).await;
            let Some(upstream) = upstream.upgrade() else { return };
            upstream.refresh().await;
        }
    };
    tokio::select! {
        () = until_closed => {}
        () = exchange.closed().cancelled() => {}
    }
    if let (Some(upstream), Some(fault)) = (upstream.upgrade(), exchange.end_fault()) {
        upstream.give_up(&exchange, &fault.to_string());
    }
}

impl Upstream {
    /// Reads the list again. If that fails the old one stays: a moment's trouble must not take tools away.
    async fn refresh(&self) {
        let Some(connection) = self.live.load_full() else { return };
        match self.within(LIST_TIMEOUT, "list its tools", listing::fetch(&connection)).await {
            Ok(listed) => {
                self.offers.send_if_modified(|offer| {
                    let is_news = offer.definitions.as_deref() != Some(listed.definitions().as_str());
                    if is_news {
                        *offer =
                            catalogue::offer(&listed, &self.settings, &self.me, offer.state.clone(), true);
                        self.log_withheld(offer);
                    }
                    is_news
                });
                self.next_generation();
            }
            Err(error) => {
                tracing::warn!(target: "upstream", upstream = %self.name(), %error, "could not read its changed list");
            }
        }
    }
}

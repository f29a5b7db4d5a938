//! What is remembered of a server from one run to the next: everything that it lists.

use std::sync::Arc;
use std::time::Duration;

use store::{DEFINITIONS_BYTES_MAX, Definitions, Store, StoreError};
use terminal::times::now_ms;
use tokio::time::sleep;
use upstream::Upstream;

/// Remembered definitions older than this are not offered: nobody has used them for so long, and the server may be
/// any by now. Younger ones are offered at once, and asked for anew behind that when they are stale.
const REMEMBERED_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Some servers change their lists all the time, and remembering one takes the disk.
const KEPT_EVERY: Duration = Duration::from_secs(60);

/// What is known of a server without asking it.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) definitions: Arc<str>,
    /// In milliseconds since 1970.
    pub(super) fetched_at_ms: i64,
}

impl Known {
    /// What an upstream offers.
    pub(super) fn of(upstream: &Upstream) -> Option<Known> {
        let definitions = upstream.offers().borrow().definitions.clone()?;
        Some(Known { definitions, fetched_at_ms: upstream.status().fetched_at_ms? })
    }
}

/// What is kept of a server, unless that is too old.
pub(super) async fn kept(store: &dyn Store, upstream: &Upstream) -> Option<Known> {
    let found = store.definitions(upstream.name(), &upstream.fingerprint()).await;
    let found = answered(upstream.name(), found).flatten()?;
    let age_ms = now_ms().saturating_sub(found.fetched_at_ms);
    let is_young = u64::try_from(age_ms).is_ok_and(|age| Duration::from_millis(age) < REMEMBERED_FOR);
    is_young.then(|| Known { definitions: found.tools_json.into(), fetched_at_ms: found.fetched_at_ms })
}

/// Keeps what is seen in this run: at once the first time, and then as often as [`KEPT_EVERY`]. Once for all who share
/// the server. What `has_secret` is not kept.
pub(super) async fn remember(
    upstream: Arc<Upstream>,
    has_secret: impl Fn(&str) -> bool + Send,
    store: Arc<dyn Store>,
) {
    let mut offers = upstream.offers();
    let mut last = None;
    offers.mark_changed();
    while offers.changed().await.is_ok() {
        let seen = {
            let offer = offers.borrow_and_update();
            offer.definitions.clone().filter(|_| offer.fresh)
        };
        let Some(definitions) = seen.filter(|seen| last.as_ref() != Some(seen)) else { continue };
        if may_be_kept(upstream.name(), &definitions, &has_secret) {
            let kept = Definitions {
                upstream: upstream.name().to_owned(),
                fingerprint: upstream.fingerprint(),
                tools_json: definitions.to_string(),
                fetched_at_ms: now_ms(),
            };
            answered(upstream.name(), store.keep_definitions(kept).await);
        }
        last = Some(definitions);
        sleep(KEPT_EVERY).await;
    }
}

fn may_be_kept(upstream: &str, definitions: &str, has_secret: impl Fn(&str) -> bool) -> bool {
    if definitions.len() > DEFINITIONS_BYTES_MAX {
        tracing::warn!(upstream, "the list of tools is too long to be remembered");
        return false;
    }
    // Without the secret it would be another list, and calls by it would be refused.
    let has_secret = has_secret(definitions);
    if has_secret {
        tracing::warn!(upstream, "the list of tools holds a secret and is not remembered");
    }
    !has_secret
}

/// What the store answered. What cannot be remembered is fetched anew.
fn answered<T>(upstream: &str, answer: Result<T, StoreError>) -> Option<T> {
    answer.inspect_err(|error| tracing::warn!(upstream, %error, "the list of tools is not remembered")).ok()
}

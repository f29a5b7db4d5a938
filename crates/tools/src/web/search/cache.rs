//! `Cache`: what services have found a moment ago, so that the same question is not asked twice.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::service::Hit;

/// How long an answer holds: as long as a conversation comes back to it.
const KEPT: Duration = Duration::from_secs(600);

/// What all answers have together, in bytes of their texts.
const BYTES_MAX: usize = 1024 * 1024;

/// The oldest answer first.
#[derive(Default)]
pub(super) struct Cache {
    entries: VecDeque<Entry>,
    bytes: usize,
}

struct Entry {
    service: usize,
    query: Arc<str>,
    hits: Arc<[Hit]>,
    bytes: usize,
    at: Instant,
}

impl Cache {
    /// What this service found for this query.
    pub(super) fn found(&mut self, service: usize, query: &str) -> Option<Arc<[Hit]>> {
        let now = Instant::now();
        while self.entries.front().is_some_and(|entry| now.duration_since(entry.at) >= KEPT) {
            self.forget_oldest();
        }
        let found = self.entries.iter().find(|entry| entry.service == service && *entry.query == *query)?;
        Some(found.hits.clone())
    }

    pub(super) fn keep(&mut self, service: usize, query: &str, hits: &Arc<[Hit]>) {
        let texts = |hit: &Hit| hit.title.len() + hit.url.len() + hit.snippet.len() + size_of::<Hit>();
        let bytes = query.len() + size_of::<Entry>() + hits.iter().map(texts).sum::<usize>();
        if bytes > BYTES_MAX || self.found(service, query).is_some() {
            return;
        }
        while self.bytes + bytes > BYTES_MAX {
            self.forget_oldest();
        }
        self.bytes += bytes;
        let (query, hits) = (query.into(), hits.clone());
        self.entries.push_back(Entry { service, query, hits, bytes, at: Instant::now() });
    }

    fn forget_oldest(&mut self) {
        self.bytes -= self.entries.pop_front().map_or(0, |entry| entry.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn answers_are_kept_for_a_while_and_in_bounds() {
        let mut cache = Cache::default();
        let large = |url: &str| -> Arc<[Hit]> {
            let snippet = "x".repeat(BYTES_MAX / 3);
            [Hit { title: String::new(), url: url.to_owned(), snippet }].into()
        };
        cache.keep(0, "a", &large("1"));
        cache.keep(1, "a", &large("2"));
        assert_eq!(cache.found(0, "a").map(|hits| hits[0].url.clone()).as_deref(), Some("1"));
        assert!(cache.found(0, "b").is_none());
        cache.keep(0, "b", &large("3"));
        assert!(cache.found(0, "a").is_none() && cache.found(1, "a").is_some(), "the oldest makes room");
        assert!(cache.bytes <= BYTES_MAX);
        tokio::time::advance(KEPT).await;
        assert!(cache.found(0, "b").is_none() && cache.bytes == 0);
    }
}

//! Which resources of an upstream are watched, by how many, whatever connection there is.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use wire::subscriptions::URIS_MAX;

/// Watchers by the server's own URIs.
#[derive(Debug, Default)]
pub(crate) struct Subscribed {
    watchers: Mutex<BTreeMap<String, Watched>>,
}

#[derive(Debug, Default)]
struct Watched {
    watchers: usize,
    /// True once the server has agreed to it.
    is_agreed: bool,
}

/// What one more watcher means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Added {
    /// The server has not agreed yet; it must be asked.
    Unasked,
    /// It is watched already.
    Another,
    /// No more resources can be watched.
    Full,
}

impl Subscribed {
    /// Counts a watcher.
    pub(crate) fn add(&self, uri: &str) -> Added {
        let mut watched = self.watched();
        if watched.len() >= URIS_MAX && !watched.contains_key(uri) {
            return Added::Full;
        }
        let entry = watched.entry(uri.to_owned()).or_default();
        entry.watchers += 1;
        if entry.is_agreed { Added::Another } else { Added::Unasked }
    }

    /// The server has agreed to it, or does not tell of it any more.
    pub(crate) fn set_agreed(&self, uri: &str, is_agreed: bool) {
        if let Some(entry) = self.watched().get_mut(uri) {
            entry.is_agreed = is_agreed;
        }
    }

    /// Counts a watcher less; true if it was the last.
    pub(crate) fn remove(&self, uri: &str) -> bool {
        let mut watched = self.watched();
        let Some(entry) = watched.get_mut(uri) else { return false };
        entry.watchers -= 1;
        let was_last = entry.watchers == 0;
        if was_last {
            watched.remove(uri);
        }
        was_last
    }

    /// True if it is watched.
    pub(crate) fn has(&self, uri: &str) -> bool {
        self.watched().contains_key(uri)
    }

    /// Takes over what is watched in another table; the server has not agreed to it yet.
    pub(crate) fn take_over(&self, other: &Subscribed) {
        let others: Vec<(String, usize)> =
            other.watched().iter().map(|(uri, entry)| (uri.clone(), entry.watchers)).collect();
        let mut watched = self.watched();
        for (uri, watchers) in others {
            watched.entry(uri).or_default().watchers += watchers;
        }
    }

    /// True if nothing is watched.
    pub(crate) fn is_empty(&self) -> bool {
        self.watched().is_empty()
    }

    /// Everything that is watched, in order.
    pub(crate) fn all(&self) -> Vec<String> {
        self.watched().keys().cloned().collect()
    }

    fn watched(&self) -> MutexGuard<'_, BTreeMap<String, Watched>> {
        self.watchers.lock().expect("nothing panics while it holds the lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_over_is_watched_by_as_many_and_not_agreed() {
        let (before, after) = (Subscribed::default(), Subscribed::default());
        assert_eq!(
            (before.add("a"), before.add("a"), before.add("b")),
            (Added::Unasked, Added::Unasked, Added::Unasked)
        );
        before.set_agreed("a", true);
        after.take_over(&before);
        assert_eq!(after.all(), ["a", "b"]);
        assert_eq!((after.add("a"), after.remove("a")), (Added::Unasked, false));
        assert!(!after.remove("a") && after.remove("a") && after.remove("b") && after.is_empty());
    }

    #[test]
    fn the_first_and_the_last_are_told_apart_and_there_is_an_end_to_them() {
        let watched = Subscribed::default();
        assert_eq!((watched.add("a"), watched.add("a")), (Added::Unasked, Added::Unasked));
        watched.set_agreed("a", true);
        assert_eq!(watched.add("a"), Added::Another);
        watched.set_agreed("a", false);
        assert_eq!((watched.add("a"), watched.remove("a")), (Added::Unasked, false));
        assert!(!watched.remove("a") && !watched.remove("a") && watched.has("a"));
        assert!(watched.remove("a") && watched.is_empty());
        assert!(!watched.remove("a"), "nobody was left");
        for number in 0..URIS_MAX {
            assert_eq!(watched.add(&number.to_string()), Added::Unasked);
        }
        assert_eq!(watched.add("one more"), Added::Full);
        assert_eq!(watched.all().len(), URIS_MAX);
    }
}

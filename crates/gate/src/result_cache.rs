//! The texts of results that were too long for one answer, so that their callers can read on. In memory, and bounded: what
//! is pushed out, or has lain for too long, is gone.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use data_encoding::HEXLOWER;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until};
use tool_api::{LongResult, Results};

/// Results that are kept at a time.
const RESULTS_MAX: usize = 256;

/// Their text in all: two of the largest that are handed out.
const BYTES_MAX: usize = 64 * 1024 * 1024;

/// How long one is kept: whoever reads on does so within minutes.
const AGE_MAX: Duration = Duration::from_secs(30 * 60);

/// Whoever has an id needs to be its owner as well; nobody guesses one of so many random bytes.
const ID_BYTES: usize = 16;

/// Whose a result is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The caller's id.
    pub(crate) caller: Arc<str>,
    /// The key that it holds.
    pub(crate) key: Option<Arc<str>>,
    /// Its conversation, if its calls can be told from those of the same caller's others.
    pub(crate) conversation: Option<u64>,
    /// The folder of the workspace.
    pub(crate) workspace: String,
}

/// Keeps results for all gates that share it.
#[derive(Default)]
pub struct ResultCache(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    by_age: VecDeque<Entry>,
    bytes: usize,
    /// True while a task waits for the oldest one's time to be over.
    is_watched: bool,
}

struct Entry {
    id: String,
    owner: Owner,
    until: Instant,
    result: LongResult,
}

impl Entries {
    /// Drops the oldest ones for which this holds.
    fn drop_while(&mut self, is_over: impl Fn(&Entries, &Entry) -> bool) {
        while let Some(oldest) = self.by_age.front().filter(|oldest| is_over(self, oldest)) {
            self.bytes -= oldest.result.bytes();
            self.by_age.pop_front();
        }
    }
}

impl ResultCache {
    /// Keeps a result, and gives its id; nothing if the system gives no randomness.
    pub(crate) fn keep(self: &Arc<Self>, owner: Owner, result: LongResult) -> Option<String> {
        let mut random = [0; ID_BYTES];
        getrandom::fill(&mut random).ok()?;
        let (id, until) = (HEXLOWER.encode(&random), Instant::now() + AGE_MAX);
        let bytes = result.bytes();
        let mut entries = self.entries();
        entries.drop_while(|all, _| all.by_age.len() >= RESULTS_MAX || all.bytes + bytes > BYTES_MAX);
        entries.bytes += bytes;
        entries.by_age.push_back(Entry { id: id.clone(), owner, until, result });
        self.watch(&mut entries);
        Some(id)
    }

    /// What this owner may read of it.
    pub(crate) fn of(self: &Arc<Self>, owner: Owner) -> Arc<dyn Results> {
        Arc::new(Own { owner, cache: self.clone() })
    }

    /// Has a task drop what is too old, as long as anything is there.
    fn watch(self: &Arc<Self>, entries: &mut Entries) {
        let (false, Ok(runtime)) = (entries.is_watched, Handle::try_current()) else { return };
        entries.is_watched = true;
        let (cache, mut until) = (Arc::downgrade(self), Instant::now() + AGE_MAX);
        runtime.spawn(async move {
            loop {
                sleep_until(until).await;
                let Some(next) = cache.upgrade().and_then(|cache| cache.drop_old()) else { return };
                until = next;
            }
        });
    }

    /// Drops what is too old. Gives the time at which the oldest of the others will be; if there is none, nobody watches
    /// any more.
    fn drop_old(&self) -> Option<Instant> {
        let (mut entries, now) = (self.entries(), Instant::now());
        entries.drop_while(|_, oldest| oldest.until <= now);
        let next = entries.by_age.front().map(|oldest| oldest.until);
        entries.is_watched = next.is_some();
        next
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The results of one owner.
struct Own {
    owner: Owner,
    cache: Arc<ResultCache>,
}

impl Results for Own {
    fn find(&self, id: &str) -> Option<LongResult> {
        let entries = self.cache.entries();
        let now = Instant::now();
        let is_meant = |entry: &&Entry| entry.owner == self.owner && entry.id == id && entry.until > now;
        entries.by_age.iter().find(is_meant).map(|entry| entry.result.clone())
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn owner(caller: &str, conversation: Option<u64>, workspace: &str) -> Owner {
        Owner { caller: caller.into(), key: None, conversation, workspace: workspace.to_owned() }
    }

    fn mine() -> Owner {
        owner("local", Some(1), "/w")
    }

    fn keep(cache: &Arc<ResultCache>, bytes: usize) -> String {
        cache.keep(mine(), LongResult::new("x".repeat(bytes), 10)).expect("there is randomness")
    }

    #[test]
    fn only_its_owner_finds_a_result() {
        let cache = Arc::new(ResultCache::default());
        let id = keep(&cache, 100);
        let other_key = Owner { key: Some("k2".into()), ..mine() };
        for (other, expected) in [
            (mine(), true),
            (owner("other", Some(1), "/w"), false),
            (owner("local", Some(2), "/w"), false),
            (owner("local", None, "/w"), false),
            (owner("local", Some(1), "/v"), false),
            (other_key, false),
        ] {
            assert_eq!(cache.of(other.clone()).find(&id).is_some(), expected, "{other:?}");
        }
        for wrong in ["", "x", &id[1..], &id.to_uppercase()[..]] {
            assert!(cache.of(mine()).find(wrong).is_none() || wrong == id, "{wrong:?}");
        }
    }

    #[test]
    fn the_oldest_make_room() {
        let cache = Arc::new(ResultCache::default());
        let own = cache.of(mine());
        let ids: Vec<String> = (0..=RESULTS_MAX).map(|_| keep(&cache, 1)).collect();
        assert!(own.find(&ids[0]).is_none(), "one more than are kept");
        assert!(own.find(&ids[1]).is_some());
        let large = keep(&cache, BYTES_MAX - 2);
        let kept = ids.iter().filter(|id| own.find(id).is_some()).count();
        assert_eq!((kept, own.find(&large).is_some()), (2, true));
        assert_eq!(cache.entries().bytes, BYTES_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_old_is_gone() {
        let cache = Arc::new(ResultCache::default());
        let own = cache.of(mine());
        let first = keep(&cache, 1);
        advance(AGE_MAX / 2).await;
        let second = keep(&cache, 1);
        advance(AGE_MAX / 2).await;
        assert_eq!([&first, &second].map(|id| own.find(id).is_some()), [false, true]);
        // Nobody needs to ask for the memory to be free.
        sleep_until(Instant::now() + AGE_MAX).await;
        let Entries { by_age, bytes, is_watched } = &*cache.entries();
        assert_eq!((by_age.len(), *bytes, *is_watched), (0, 0, false));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_keeps_something_after_a_pause_is_watched_again() {
        let cache = Arc::new(ResultCache::default());
        keep(&cache, 1);
        sleep_until(Instant::now() + 2 * AGE_MAX).await;
        assert!(!cache.entries().is_watched);
        keep(&cache, 1);
        assert!(cache.entries().is_watched);
    }
}

//! Times at which callers are told that something of theirs has come due. One timer for each list of times, and none while
//! there is nothing to tell.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::AbortHandle;

/// Most lists of times at once: as many callers as one process serves. Whoever comes later is told of changes alone.
const TIMERS_MAX: usize = 1_000;

/// The timers, by what they are for.
#[derive(Default)]
pub(crate) struct Reminders(Mutex<HashMap<String, AbortHandle>>);

impl Reminders {
    /// Calls `tell` after each of these delays, in milliseconds, and for `key` after no others. Must be called on the runtime.
    pub(crate) fn set(&self, key: String, mut delays_ms: Vec<i64>, tell: Arc<dyn Fn() + Send + Sync>) {
        let mut timers = self.timers();
        if let Some(before) = timers.remove(&key) {
            before.abort();
        }
        timers.retain(|_, timer| !timer.is_finished());
        if delays_ms.is_empty() || timers.len() >= TIMERS_MAX {
            return;
        }
        delays_ms.sort_unstable();
        let timer = tokio::spawn(async move {
            let mut passed_ms = 0;
            for delay_ms in delays_ms {
                let left_ms = u64::try_from(delay_ms - passed_ms).unwrap_or(0);
                tokio::time::sleep(Duration::from_millis(left_ms)).await;
                passed_ms = passed_ms.max(delay_ms);
                tell();
            }
        });
        timers.insert(key, timer.abort_handle());
    }

    fn timers(&self) -> MutexGuard<'_, HashMap<String, AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Reminders {
    fn drop(&mut self) {
        self.timers().values().for_each(AbortHandle::abort);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_time_is_told_once_and_another_list_takes_its_place() {
        let (reminders, told) = (Reminders::default(), Arc::new(AtomicUsize::new(0)));
        let counted = told.clone();
        let tell: Arc<dyn Fn() + Send + Sync> = Arc::new(move || _ = counted.fetch_add(1, Ordering::Relaxed));
        let set = |delays_ms: &[i64]| reminders.set("a".to_owned(), delays_ms.to_vec(), tell.clone());
        let after = async |ms| {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            told.swap(0, Ordering::Relaxed)
        };
        set(&[3_000, -5, 1_000]);
        assert_eq!(after(500).await, 1, "what is due already");
        assert_eq!(after(1_000).await, 1);
        set(&[10_000]);
        assert_eq!(after(9_000).await, 0, "what was said before");
        assert_eq!(after(2_000).await, 1);
        set(&[1_000]);
        set(&[]);
        assert_eq!(after(60_000).await, 0);
        set(&[1_000]);
        drop(reminders);
        assert_eq!(after(60_000).await, 0);
    }
}

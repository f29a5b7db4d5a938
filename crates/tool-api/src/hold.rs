//! What a tool keeps for the next round of a call, and when it lets go of it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::cancel::Cancel;

/// Kept by whoever means to come back with another round; when the last clone is dropped, nobody will, and the tool
/// lets go of what it keeps for that. After [`Hold::leave`] it is kept whatever becomes of the clones, until the
/// tool's own time for it is up.
#[derive(Clone)]
pub struct Hold(Arc<Inner>);

struct Inner {
    end: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    over: Cancel,
}

impl Hold {
    /// Runs `end` when nobody holds it any more. The tool sets `over` when it needs no answer: what asked has ended, and
    /// the next round says how.
    pub fn new(end: impl FnOnce() + Send + 'static, over: Cancel) -> Hold {
        Hold(Arc::new(Inner { end: Mutex::new(Some(Box::new(end))), over }))
    }

    /// Resolves once the tool needs no answer any more.
    pub async fn over(&self) {
        self.0.over.cancelled().await;
    }

    /// For clients that keep nothing between two rounds: whether they come back is theirs to decide.
    pub fn leave(&self) {
        self.0.end.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let end = self.end.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(end) = end {
            end();
        }
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hold")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn the_last_one_who_lets_go_ends_it_unless_it_is_left() {
        let ended = Arc::new(AtomicU32::new(0));
        let hold = || {
            let ended = ended.clone();
            let end = move || {
                ended.fetch_add(1, Ordering::Relaxed);
            };
            Hold::new(end, Cancel::new())
        };
        let first = hold();
        let second = first.clone();
        drop(first);
        assert_eq!(ended.load(Ordering::Relaxed), 0);
        drop(second);
        assert_eq!(ended.load(Ordering::Relaxed), 1);
        let left = hold();
        left.leave();
        drop(left);
        assert_eq!(ended.load(Ordering::Relaxed), 1);
    }
}

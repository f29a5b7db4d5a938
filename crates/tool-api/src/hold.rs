//! What a tool keeps for the next round of a call, and when it lets go of it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Kept by whoever means to come back with another round; when the last clone is dropped, nobody will, and the tool
/// lets go of what it keeps for that. After [`Hold::leave`] it is kept whatever becomes of the clones, until the
/// tool's own time for it is up.
#[derive(Clone)]
pub struct Hold(Arc<Inner>);

struct Inner(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Hold {
    /// Runs `end` when nobody holds it any more.
    pub fn new(end: impl FnOnce() + Send + 'static) -> Hold {
        Hold(Arc::new(Inner(Mutex::new(Some(Box::new(end))))))
    }

    /// For clients that keep nothing between two rounds: whether they come back is theirs to decide.
    pub fn leave(&self) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let end = self.0.get_mut().unwrap_or_else(PoisonError::into_inner).take();
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
            Hold::new(move || {
                ended.fetch_add(1, Ordering::Relaxed);
            })
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

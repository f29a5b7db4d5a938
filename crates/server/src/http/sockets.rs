//! `Sockets`: how many WebSockets are open, in all and of each caller. They are no connections any more, so that nothing else
//! bounds them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most WebSockets at once.
const SOCKETS_MAX: usize = 1_000;

/// Most of one caller: more than one watches jobs in, and a tenth of what there is.
const OF_CALLER_MAX: usize = 100;

/// Those that are open, by the ids of their callers.
#[derive(Default)]
pub(super) struct Sockets(Mutex<HashMap<Arc<str>, usize>>);

/// The place of one that is open, until it is dropped.
pub(super) struct Place {
    sockets: Arc<Sockets>,
    caller: Arc<str>,
}

impl Sockets {
    /// Takes a place for one of this caller's.
    ///
    /// # Errors
    /// Why there is none, in a sentence.
    pub(super) fn take(self: &Arc<Sockets>, caller: &Arc<str>) -> Result<Place, String> {
        let mut open = self.open();
        if open.get(caller).is_some_and(|own| *own >= OF_CALLER_MAX) {
            return Err(format!(
                "{OF_CALLER_MAX} WebSockets of this caller are open; close one of them first"
            ));
        }
        if open.values().sum::<usize>() >= SOCKETS_MAX {
            return Err(format!("{SOCKETS_MAX} WebSockets are open, and no more can be; try again later"));
        }
        *open.entry(caller.clone()).or_default() += 1;
        Ok(Place { sockets: self.clone(), caller: caller.clone() })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Arc<str>, usize>> {
        // What it guards is sound between any two statements.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.sockets.open();
        let left = open.get(&self.caller).map_or(0, |own| own - 1);
        match left {
            0 => open.remove(&self.caller),
            left => open.insert(self.caller.clone(), left),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_caller_takes_no_more_than_its_share_and_all_no_more_than_there_are() {
        let sockets = Arc::new(Sockets::default());
        let of = |nth: usize| Arc::from(format!("key:{nth}"));
        let mut places: Vec<Place> = (0..OF_CALLER_MAX).map(|_| sockets.take(&of(0)).unwrap()).collect();
        let refused = sockets.take(&of(0)).map(drop).unwrap_err();
        assert_eq!(refused, "100 WebSockets of this caller are open; close one of them first");
        places.pop();
        places.push(sockets.take(&of(0)).unwrap());
        let others = (1..SOCKETS_MAX / OF_CALLER_MAX).flat_map(|nth| [nth; OF_CALLER_MAX]);
        places.extend(others.map(|nth| sockets.take(&of(nth)).unwrap()));
        let refused = sockets.take(&of(99)).map(drop).unwrap_err();
        assert_eq!(refused, "1000 WebSockets are open, and no more can be; try again later");
        places.clear();
        assert!(sockets.open().is_empty(), "nothing is remembered of who is gone");
    }
}

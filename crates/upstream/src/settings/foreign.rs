//! `Foreign`: the prefixes of the other upstreams, which change when those do.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;

/// The prefixes of the other upstreams: what begins like theirs is not ours to offer. Copies of one upstream's
/// settings share them, so that all hear of a change.
#[derive(Clone, Default)]
pub(crate) struct Foreign(Arc<ArcSwap<Vec<Box<str>>>>);

impl Foreign {
    /// What is left to the others, who have these prefixes.
    pub(super) fn to<'p>(prefixes: impl Iterator<Item = &'p str>) -> Foreign {
        let prefixes = prefixes.filter(|prefix| !prefix.is_empty()).map(Box::from).collect();
        Foreign(Arc::new(ArcSwap::from_pointee(prefixes)))
    }

    /// Those that are in force now.
    pub(crate) fn now(&self) -> Arc<Vec<Box<str>>> {
        self.0.load_full()
    }

    /// Takes those that `other` has. False if they are the same.
    pub(super) fn become_as(&self, other: &Foreign) -> bool {
        let prefixes = other.now();
        let is_other = *self.0.load() != prefixes;
        if is_other {
            self.0.store(prefixes);
        }
        is_other
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.now().iter()).finish()
    }
}

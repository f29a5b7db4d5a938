//! `Foreign`: the prefixes of the other upstreams, which change when those do.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;

use super::Settings;

/// The prefixes of the other upstreams: what begins like theirs is not ours to offer. Copies of one upstream's
/// settings share them, so that all hear of a change.
#[derive(Clone, Default)]
pub(crate) struct Foreign(Arc<ArcSwap<Vec<Box<str>>>>);

impl Foreign {
    /// What the upstream `name` must leave to the others among `all`.
    pub(super) fn to(name: &str, all: &[Settings]) -> Foreign {
        let others = all.iter().filter(|other| other.enabled && *other.name != *name);
        let prefixes = others.map(|other| other.prefix.as_str()).filter(|prefix| !prefix.is_empty());
        Foreign(Arc::new(ArcSwap::from_pointee(prefixes.map(Box::from).collect())))
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

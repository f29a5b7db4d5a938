//! One search of a text: for the values of known secrets, and for what looks like a secret.

use crate::hits::{self, Hit};
use crate::known::Values;
use crate::patterns::{self, Filter};

/// What is looked for.
pub(crate) struct Search<'s> {
    pub(crate) known: Option<&'s Values>,
    pub(crate) filter: Option<&'s Filter>,
}

impl Search<'_> {
    /// Adds the places of known values.
    pub(crate) fn values(&self, text: &[u8], hits: &mut Vec<Hit>) {
        if let Some(known) = self.known {
            known.find(text, 0, hits);
        }
    }

    /// True if no secret is known and patterns are not looked for.
    pub(crate) fn is_for_nothing(&self) -> bool {
        self.known.is_none() && self.filter.is_none()
    }

    /// Adds the places of what looks like a secret.
    pub(crate) fn patterns(&self, text: &[u8], hits: &mut Vec<Hit>) {
        if let Some(filter) = self.filter {
            patterns::find(text, filter, hits);
        }
    }

    /// True for a place that was struck out before: a name may hold a value.
    pub(crate) fn is_struck(&self, text: &[u8], hit: &Hit) -> bool {
        let ours = |name: &str| {
            self.known.is_some_and(|known| known.has(name)) || patterns::ids().any(|id| id == name)
        };
        hits::is_struck(text, hit, &ours)
    }
}

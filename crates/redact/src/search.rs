//! One search of a text: for the values of known secrets, and for what looks like a secret.

use std::sync::Arc;

use crate::hits::{self, Hit};
use crate::known::Values;
use crate::patterns::{self, Filter};

/// What is looked for.
pub(crate) struct Search {
    pub(crate) known: Option<Arc<Values>>,
    /// Nothing if patterns are not looked for.
    pub(crate) filter: Option<Arc<Filter>>,
}

impl Search {
    /// The places of known values.
    pub(crate) fn values(&self, text: &[u8]) -> Vec<Hit> {
        let mut hits = Vec::new();
        self.known.iter().for_each(|known| known.find(text, 0, &mut hits));
        hits
    }

    /// Adds the places of what looks like a secret.
    pub(crate) fn patterns(&self, text: &[u8], hits: &mut Vec<Hit>) {
        if let Some(filter) = &self.filter {
            patterns::find(text, filter, hits);
        }
    }

    /// True for a place that was struck out before: a name may hold a value.
    pub(crate) fn is_struck(&self, text: &[u8], hit: &Hit) -> bool {
        let is_ours = |name: &str| {
            self.known.as_ref().is_some_and(|known| known.has(name)) || patterns::ids().any(|id| id == name)
        };
        hits::is_struck(text, hit, &is_ours)
    }
}

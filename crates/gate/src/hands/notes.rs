//! `Notes`: how the programs of a call ran, kept beside the call so that its record has it however the call ends.

use std::sync::{Mutex, PoisonError};

use tool_api::Sandboxed;

/// Shared by the hands of a call and its record.
#[derive(Debug, Default)]
pub(crate) struct Notes(Mutex<Option<Sandboxed>>);

impl Notes {
    /// A program of this profile runs without these layers.
    pub(crate) fn ran(&self, profile: &'static str, degraded: &[&'static str]) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sandboxed = noted.get_or_insert(Sandboxed { profile, degraded: Vec::new() });
        for layer in degraded {
            if !sandboxed.degraded.contains(layer) {
                sandboxed.degraded.push(layer);
            }
        }
    }

    /// What is known by now; nothing if no program ran.
    pub(crate) fn sandboxed(&self) -> Option<Sandboxed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

//! What the last write of this process met: told to whoever asks how the program is doing, and to the log when it changes.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::file::chain;
use crate::error::StoreError;

/// Why nothing could be kept when that was last tried; nothing if it could, or was not tried yet. One for all connections of
/// a process to a database, since a disk has room for all of them again once it has for one.
#[derive(Debug, Default)]
pub(super) struct LastWrite(Mutex<Option<Trouble>>);

#[derive(Debug, PartialEq, Eq)]
struct Trouble {
    words: String,
    is_unwritable: bool,
}

impl LastWrite {
    pub(super) fn trouble(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|trouble| trouble.words.clone())
    }

    /// Whether it met a database for reading only.
    pub(super) fn finds_it_unwritable(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_some_and(|last| last.is_unwritable)
    }

    /// Hears of every error. Most are about what was to be kept, or over in a moment.
    pub(super) fn failed(&self, dir: &Path, error: &StoreError) {
        let is_unwritable = matches!(error, StoreError::Unwritable(_));
        if !is_unwritable && !matches!(error, StoreError::NoSpace) {
            return;
        }
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let trouble = Trouble { words: error.to_string(), is_unwritable };
        if last.as_ref() != Some(&trouble) {
            tracing::error!(folder = %dir.display(), "{}", chain(error));
            *last = Some(trouble);
        }
    }

    /// Something was written.
    pub(super) fn succeeded(&self, dir: &Path) {
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).take().is_some() {
            tracing::info!(folder = %dir.display(), "the state database toolcrib.db takes what is to be kept again");
        }
    }
}

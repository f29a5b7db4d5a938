//! Sentinel files beside the database: they tell what was once in it, so that a database that is gone is not taken for one that
//! never was: nothing in it can tell. None of them is ever removed.
#![expect(clippy::disallowed_methods, reason = "the store is a declared home of files")]

use std::io;
use std::path::Path;

use crate::cell::{Kind, NAMED_PREFIX};
use crate::folder;

/// What there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sentinel {
    /// The database itself.
    Database,
    /// API keys.
    Keys,
    /// Secrets that a person has set.
    Secrets,
}

impl Sentinel {
    pub(crate) fn file(self) -> &'static str {
        match self {
            Sentinel::Database => "database.made",
            Sentinel::Keys => "keys.made",
            Sentinel::Secrets => "secrets.set",
        }
    }

    /// The one that tells of cells of a kind, if one does.
    pub(crate) fn of_kind(kind: Kind) -> Option<Sentinel> {
        (kind == Kind::Key).then_some(Sentinel::Keys)
    }

    /// The one that tells of such a cell, if one does.
    pub(crate) fn of_cell(kind: Kind, key: &str) -> Option<Sentinel> {
        let is_named = kind == Kind::Sealed && key.starts_with(NAMED_PREFIX);
        is_named.then_some(Sentinel::Secrets).or_else(|| Sentinel::of_kind(kind))
    }

    /// Whether it was made in this folder. Looks at one file.
    pub(crate) fn is_in(self, dir: &Path) -> io::Result<bool> {
        dir.join(self.file()).try_exists()
    }

    /// Makes it, unless it is there. Once this returns it survives a crash of the machine.
    pub(crate) fn make(self, dir: &Path) -> io::Result<()> {
        if self.is_in(dir)? {
            return Ok(());
        }
        folder::create_private(dir)?;
        folder::create_whole(dir, self.file(), b"")
    }
}

//! The folder of the artifacts: one file for each content, named by its hash, and drafts. Private to its owner.
#![expect(clippy::disallowed_methods, reason = "the artifacts are a declared home of files")]

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use store::{create_private, found};

use crate::draft::{Draft, Whole};
use crate::error::ArtifactError;
use crate::marks::Marks;
use crate::written::{FILE_MODE, is_left};

/// The folder's name within the state folder.
const FOLDER: &str = "artifacts";

/// What the names of drafts begin with, which is no hexadecimal digit.
const DRAFT_PREFIX: &str = "writing-";

/// Whoever holds this file's lock is the only one that adds, names or removes artifacts.
const LOCK: &str = "lock";

/// The folder.
pub(crate) struct Folder {
    dir: PathBuf,
}

impl Folder {
    pub(crate) fn below(state: &Path) -> Folder {
        Folder { dir: state.join(FOLDER) }
    }

    /// Whether there is one: without it there are no artifacts. One question to the system.
    pub(crate) fn is_there(&self) -> io::Result<bool> {
        self.dir.try_exists()
    }

    /// Keeps all other processes, and threads, from changing what is there until the file is dropped.
    pub(crate) fn lock(&self) -> io::Result<File> {
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_MODE)
            .open(self.dir.join(LOCK))?;
        lock.lock()?;
        Ok(lock)
    }

    pub(crate) fn draft(&self, bytes_max: u64) -> Result<Draft, ArtifactError> {
        create_private(&self.dir)?;
        let random = getrandom::u64().map_err(io::Error::other)?;
        let path = self.dir.join(format!("{DRAFT_PREFIX}{random:016x}"));
        let file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&path)?;
        Ok(Draft::new(file, path, bytes_max))
    }

    /// What says which contents are in the bucket.
    pub(crate) fn marks(&self) -> Marks<'_> {
        Marks::in_folder(&self.dir)
    }

    /// Gives a draft its name. One of the same content that is there already is the same file.
    pub(crate) fn adopt(&self, whole: &Whole) -> io::Result<()> {
        fs::rename(&whole.path, self.dir.join(&whole.sha256))?;
        File::open(&self.dir)?.sync_all()
    }

    pub(crate) fn open(&self, sha256: &str) -> io::Result<Option<File>> {
        found(File::open(self.dir.join(sha256)))
    }

    /// Removes the contents that nothing names, and drafts that a crash has left. The caller holds the lock.
    pub(crate) fn remove_all_but(&self, named: &BTreeSet<String>) -> io::Result<()> {
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let is_over = match name {
                LOCK => false,
                mark if Marks::is_mark(mark) => false,
                draft if draft.starts_with(DRAFT_PREFIX) => is_left(&entry.metadata()?),
                content => !named.contains(content),
            };
            if is_over {
                found(fs::remove_file(entry.path()))?;
            }
        }
        Ok(())
    }
}

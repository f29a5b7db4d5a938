//! `Marks`: empty files in the folder that say which contents are in the bucket, and which are on their way. So a crash leaves
//! nothing there that nobody knows of, a store that is away gets what it missed later, and nothing else in the bucket is touched.
#![expect(clippy::disallowed_methods, reason = "the artifacts are a declared home of files")]

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use store::found;

use crate::written::{FILE_MODE, is_left};

/// What the name of a mark begins with whose content is in the bucket.
const REMOTE_PREFIX: &str = "remote-";

/// And of one whose content is on its way there: its hash and a random number follow.
const SENDING_PREFIX: &str = "sending-";

/// The marks in the folder.
pub(crate) struct Marks<'a> {
    dir: &'a Path,
}

/// A content that is on its way. If it never arrives its mark stays: what of it did arrive is removed a day later.
pub(crate) struct Sending {
    mark: PathBuf,
    sha256: String,
}

/// A content that nothing names any more, and its mark.
pub(crate) struct Unnamed {
    pub(crate) sha256: String,
    mark: PathBuf,
}

impl Marks<'_> {
    pub(crate) fn in_folder(dir: &Path) -> Marks<'_> {
        Marks { dir }
    }

    pub(crate) fn is_mark(name: &str) -> bool {
        name.starts_with(REMOTE_PREFIX) || name.starts_with(SENDING_PREFIX)
    }

    /// Marks a content before anything of it is sent.
    pub(crate) fn sending(&self, sha256: &str) -> io::Result<Sending> {
        let random = getrandom::u64().map_err(io::Error::other)?;
        let mark = self.dir.join(format!("{SENDING_PREFIX}{sha256}-{random:016x}"));
        OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&mark)?;
        self.sync()?;
        Ok(Sending { mark, sha256: sha256.to_owned() })
    }

    /// It has arrived.
    pub(crate) fn sent(&self, sending: &Sending) -> io::Result<()> {
        fs::rename(&sending.mark, self.remote(&sending.sha256))?;
        self.sync()
    }

    pub(crate) fn is_remote(&self, sha256: &str) -> io::Result<bool> {
        self.remote(sha256).try_exists()
    }

    /// What is in the bucket, or was on its way there when a process died, and none of `named`.
    pub(crate) fn unnamed(&self, named: &BTreeSet<String>) -> io::Result<Vec<Unnamed>> {
        let mut unnamed = Vec::new();
        for entry in fs::read_dir(self.dir)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let sha256 = match (name.strip_prefix(REMOTE_PREFIX), name.strip_prefix(SENDING_PREFIX)) {
                (Some(sha256), _) => sha256,
                (None, Some(rest)) if is_left(&entry.metadata()?) => rest.split('-').next().unwrap_or(rest),
                (None, _) => continue,
            };
            if !named.contains(sha256) {
                unnamed.push(Unnamed { sha256: sha256.to_owned(), mark: entry.path() });
            }
        }
        Ok(unnamed)
    }

    /// The content is gone.
    pub(crate) fn remove(&self, unnamed: &Unnamed) -> io::Result<()> {
        found(fs::remove_file(&unnamed.mark)).map(drop)
    }

    fn remote(&self, sha256: &str) -> PathBuf {
        self.dir.join(format!("{REMOTE_PREFIX}{sha256}"))
    }

    fn sync(&self) -> io::Result<()> {
        File::open(self.dir)?.sync_all()
    }
}

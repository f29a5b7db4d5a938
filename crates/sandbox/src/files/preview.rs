//! What a write would change, without changing it.

use std::os::unix::fs::PermissionsExt;

use super::error::FileError;
use super::inside::Inside;
use super::root::Root;
use super::write::{Expect, LOOKED_AT_BYTES_MAX, NEW_FILE_MODE, sha256_of};
use crate::change::{Change, Content, What};

impl Root {
    /// What [`Root::write`] would do with the same words, even if that is nothing, through a handle that may write. It
    /// refuses what that refuses, and to replace a file of more than 64 MiB.
    pub fn preview(&self, path: &Inside, bytes: &[u8], expect: &Expect) -> Result<Change, FileError> {
        let real = self.real_target(path.as_path()).map_err(FileError::of(path))?;
        self.refuse_unagreed(path, &real)?;
        let before = self.present(path)?;
        let found = before.as_ref().map(|before| before.sha256.clone());
        let is_expected = match (expect, &found) {
            (Expect::Anything, _) | (Expect::Absent, None) => true,
            (Expect::Sha256(digits), Some(found)) => found.eq_ignore_ascii_case(digits),
            (Expect::Content(expected), Some(found)) => *found == sha256_of(expected),
            (Expect::Absent, Some(_)) | (Expect::Sha256(_) | Expect::Content(_), None) => false,
        };
        if !is_expected {
            return Err(FileError::Changed(found));
        }
        let mode = before.as_ref().map_or(NEW_FILE_MODE, |before| before.mode);
        let what = if before.is_some() { What::Changed } else { What::Added };
        let after = Some(Content::of_file(mode, bytes.to_vec()));
        Ok(Change { path: path.as_path().to_owned(), what, before, after })
    }

    /// The file that is there.
    fn present(&self, path: &Inside) -> Result<Option<Content>, FileError> {
        let (file, meta) = match self.open_read(path) {
            Err(FileError::NotFound(_)) => return Ok(None),
            opened => opened?,
        };
        if meta.bytes > LOOKED_AT_BYTES_MAX as u64 {
            return Err(FileError::TooLarge { what: "the file", max: LOOKED_AT_BYTES_MAX, unit: "bytes" });
        }
        let mode = file.metadata().map_err(FileError::Io)?.permissions().mode();
        let bytes = self.read(path, 0, LOOKED_AT_BYTES_MAX)?.bytes;
        Ok(Some(Content::of_file(mode, bytes)))
    }
}

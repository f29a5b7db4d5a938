//! Writing into another client's file: never over what it has written meanwhile, and with a copy of what was there beside it.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sandbox::text_file;
use terminal::Trouble;

/// A file that was written.
pub(super) struct Written {
    path: PathBuf,
    /// Where what was there is kept.
    pub(super) backup: Option<PathBuf>,
    before: Option<String>,
    after: String,
}

/// Writes the file, after a copy of what was there.
pub(super) fn write(path: &Path, before: Option<&str>, text: &str) -> Result<Written, Trouble> {
    let held = config::hold(path).map_err(Trouble::Failed)?;
    // A person may have thought about it for a while, and clients write into their files at any time.
    if clients::read(path).ok().as_ref().map(Option::as_deref) != Some(before) {
        let why = format!("{} has changed meanwhile; nothing was written, so run this again", path.display());
        return Err(Trouble::Failed(why));
    }
    let backup = before.map(|before| {
        let time = Timestamp::now().strftime("%Y%m%dT%H%M%S%3fZ");
        let mut backup = path.as_os_str().to_owned();
        backup.push(format!(".toolcrib-backup-{time}"));
        let backup = PathBuf::from(backup);
        let why = |error| format!("{} cannot be written: {error}; nothing was changed", backup.display());
        text_file::copy(path, before, &backup).map_err(why).map(|()| backup.clone())
    });
    let backup = backup.transpose().map_err(Trouble::Failed)?;
    held.write(text).map_err(Trouble::Failed)?;
    let (path, before, after) = (path.to_owned(), before.map(str::to_owned), text.to_owned());
    Ok(Written { path, backup, before, after })
}

impl Written {
    /// Puts back what was there, unless the client has written since; the copy goes with that.
    ///
    /// # Errors
    /// A sentence with the path.
    pub(super) fn undo(&self) -> Result<(), String> {
        let Some(before) = &self.before else { return Ok(()) };
        let held = config::hold(&self.path)?;
        let backup = self.backup.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
        if clients::read(&self.path)?.as_ref() != Some(&self.after) {
            let path = self.path.display();
            return Err(format!("{path} has changed meanwhile; what was there is kept in {backup}"));
        }
        held.write(before)?;
        if let Some(backup) = &self.backup {
            // A copy too many harms nobody.
            let _ = text_file::remove(backup);
        }
        Ok(())
    }
}

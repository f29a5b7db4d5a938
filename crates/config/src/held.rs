//! A file that is read, changed and replaced by one command at a time, so that none writes over another's work.
#![expect(clippy::disallowed_methods, reason = "the configuration is a declared home of files")]

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::trial::text_of;
use sandbox::text_file;

/// Longest wait for the commands that change a file of the same folder; each needs a few milliseconds.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// How often it is looked whether they are done.
const RETRY: Duration = Duration::from_millis(10);

/// A file that no other command changes for as long as this lives. Whoever edits it by hand does not ask, so it is to
/// be read after this was got, and written at once.
pub struct Held {
    path: PathBuf,
    /// The file itself becomes another one each time, and a file beside it would stay behind: the folder is locked.
    _folder: Option<File>,
}

/// Waits until no other command changes the file, which need not exist. Its folder is made where it is missing.
///
/// # Errors
/// A sentence with the path, if that takes too long or the folder cannot be opened.
pub fn hold(path: &Path) -> Result<Held, String> {
    hold_within(path, WAIT_MAX)
}

fn hold_within(path: &Path, wait: Duration) -> Result<Held, String> {
    let failed = |why: String| format!("{} cannot be changed: {why}", path.display());
    let folder = text_file::folder_of(path).and_then(|folder| {
        fs::create_dir_all(&folder)?;
        File::open(folder)
    });
    let folder = folder.map_err(|error| failed(error.to_string()))?;
    let until = Instant::now() + wait;
    let folder = loop {
        match folder.try_lock() {
            Ok(()) => break Some(folder),
            // Some file systems know no locks.
            Err(TryLockError::Error(_)) => break None,
            Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                return Err(failed("another command is changing it all the time; try again".to_owned()));
            }
            Err(TryLockError::WouldBlock) => thread::sleep(RETRY),
        }
    };
    Ok(Held { path: path.to_owned(), _folder: folder })
}

impl Held {
    /// What stands in the file now; nothing if there is none.
    ///
    /// # Errors
    /// A sentence with the path.
    pub fn text(&self) -> Result<String, String> {
        Ok(text_of(&self.path)?.unwrap_or_default())
    }

    /// Puts the text in the file's place, all of it or nothing; the file keeps its mode, a link stays a link, and
    /// missing folders are made.
    ///
    /// # Errors
    /// A sentence with the path.
    pub fn write(&self, text: &str) -> Result<(), String> {
        let path = &self.path;
        text_file::replace(path, text)
            .map_err(|error| format!("{} cannot be written: {error}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads that change a file at the same time, as many commands would.
    const MANY: usize = 8;

    #[test]
    fn who_changes_a_file_at_the_same_time_loses_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new/file");
        thread::scope(|scope| {
            for at in 0..MANY {
                let path = &path;
                scope.spawn(move || {
                    let held = hold(path).expect("it is soon free");
                    let text = held.text().expect("readable");
                    held.write(&format!("{text}{at}\n")).expect("writable");
                });
            }
        });
        assert_eq!(fs::read_to_string(&path).expect("text").lines().count(), MANY);
        let names: Vec<_> = fs::read_dir(folder.path().join("new")).expect("a folder").collect();
        assert_eq!(names.len(), 1, "nothing stays beside it");
    }

    #[test]
    fn the_wait_has_an_end_and_a_link_is_the_file_it_leads_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let (link, path) = (folder.path().join("a/link"), folder.path().join("b/file"));
        fs::create_dir_all(folder.path().join("a")).expect("a folder");
        std::os::unix::fs::symlink("../b/file", &link).expect("a link");
        let held = hold(&path).expect("free");
        let refused = hold_within(&link, Duration::ZERO).err();
        let expected = "cannot be changed: another command is changing it all the time; try again";
        assert_eq!(refused, Some(format!("{} {expected}", link.display())));
        drop(held);
        assert!(hold_within(&link, Duration::ZERO).is_ok());
    }
}

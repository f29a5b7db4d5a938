//! `Folder`: one open folder below a root, for listing and for walking down without resolving the
//! same path again. A walk is the caller's: entries are sorted, links are shown and never followed.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, DirEntry, FileType, Mode, OFlags, Stat, openat, statat};
use rustix::io::Errno;

use super::error::FileError;
use super::inside::Inside;
use super::protected::ProtectionInForce;
use super::read::{FilePart, Meta, READ_FLAGS, read_part, regular};
use super::root::Root;

/// The most entries of one folder that are listed; a larger folder is refused, not cut.
pub const ENTRIES_MAX: usize = 100_000;

/// What an entry of a folder is. A symbolic link is a link, whatever it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A pipe, socket or device.
    Other,
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name; what is not UTF-8 in it shows as U+FFFD.
    pub name: String,
    /// Whether `name` is the exact name. If not, the entry can be shown but not reached.
    pub name_is_exact: bool,
    /// What it is.
    pub kind: Kind,
    /// What else is known of it, if that was asked for. The size is that of a file, and of little meaning for the rest.
    pub meta: Option<Meta>,
}

/// An open folder. It stays the same folder when it is renamed or moved.
#[derive(Debug)]
pub struct Folder {
    handle: File,
    path: Inside,
    /// What is not read, as for the root that it was opened from.
    protection: Arc<ProtectionInForce>,
}

/// For opening one plain name without following a link, which cannot leave the folder.
const FOLDER_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Root {
    /// Opens the folder at `path`; symbolic links that stay inside are followed.
    pub fn folder(&self, path: &Inside) -> Result<Folder, FileError> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = self.open_beneath(path.as_path(), flags).map_err(FileError::of(path))?;
        self.protection.check_readable(&handle, path)?;
        Ok(Folder { handle, path: path.clone(), protection: Arc::clone(&self.protection) })
    }
}

impl Folder {
    /// Where the folder was when it was opened.
    pub fn path(&self) -> &Inside {
        &self.path
    }

    /// The entries, sorted by name, and of each what it is.
    pub fn entries(&self) -> Result<Vec<Entry>, FileError> {
        self.each(|found| match found.file_type() {
            // A file system that does not say.
            FileType::Unknown => Ok(Entry { meta: None, ..self.looked_at(found)? }),
            kind => Ok(Entry::new(found.file_name(), kind, None)),
        })
    }

    /// The same with size and time, for which the system is asked about each of them.
    pub fn entries_with_meta(&self) -> Result<Vec<Entry>, FileError> {
        self.each(|found| self.looked_at(found))
    }

    /// Entries that disappear meanwhile are left out.
    fn each(&self, entry: impl Fn(&DirEntry) -> Result<Entry, Errno>) -> Result<Vec<Entry>, FileError> {
        let mut entries = Vec::new();
        for found in Dir::read_from(&self.handle).map_err(FileError::of_errno(&self.path))? {
            let found = found.map_err(FileError::of_errno(&self.path))?;
            if matches!(found.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            if entries.len() == ENTRIES_MAX {
                return Err(FileError::TooLarge { what: "the folder", max: ENTRIES_MAX, unit: "entries" });
            }
            match entry(&found) {
                Ok(entry) => entries.push(entry),
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(FileError::of_errno(&self.path)(errno)),
            }
        }
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn looked_at(&self, found: &DirEntry) -> Result<Entry, Errno> {
        let stat = statat(&self.handle, found.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
        let meta = Meta { bytes: u64::try_from(stat.st_size).unwrap_or(0), modified: modified(&stat) };
        Ok(Entry::new(found.file_name(), FileType::from_raw_mode(stat.st_mode), Some(meta)))
    }

    /// Opens the folder `name` in this one. A link is refused with `NotAFolder`, so that a walk
    /// cannot run in circles.
    pub fn child(&self, name: &str) -> Result<Folder, FileError> {
        let path = self.path.child(name)?;
        let handle = self.open(name, FOLDER_FLAGS, &path)?;
        Ok(Folder { handle: handle.into(), path, protection: Arc::clone(&self.protection) })
    }

    /// Reads the first `bytes_max` bytes of the regular file `name`; a link is refused with `Outside`.
    pub fn read(&self, name: &str, bytes_max: usize) -> Result<FilePart, FileError> {
        let path = self.path.child(name)?;
        let file = File::from(self.open(name, READ_FLAGS | OFlags::NOFOLLOW, &path)?);
        let meta = regular(&file, &path)?;
        read_part(&file, meta, 0, bytes_max)
    }

    fn open(&self, name: &str, flags: OFlags, path: &Inside) -> Result<OwnedFd, FileError> {
        let opened = openat(&self.handle, name, flags, Mode::empty()).map_err(FileError::of_errno(path))?;
        self.protection.check_readable(&opened, path)?;
        Ok(opened)
    }
}

impl Entry {
    fn new(name: &CStr, kind: FileType, meta: Option<Meta>) -> Entry {
        let kind = match kind {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        };
        let name_is_exact = name.to_str().is_ok();
        Entry { name: name.to_string_lossy().into_owned(), name_is_exact, kind, meta }
    }
}

/// The time of a `Stat`, also before 1970; what the clock cannot hold becomes 1970.
fn modified(stat: &Stat) -> SystemTime {
    let whole = Duration::from_secs(stat.st_mtime.unsigned_abs());
    let second =
        if stat.st_mtime < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
    let part = Duration::from_nanos(stat.st_mtime_nsec);
    second.and_then(|second| second.checked_add(part)).unwrap_or(UNIX_EPOCH)
}

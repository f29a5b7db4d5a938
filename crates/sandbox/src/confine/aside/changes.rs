//! What lies aside, held against the workspace: which files are new, changed or gone.

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fgetxattr, openat, openat2, readlinkat,
    statat,
};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::change::{Change, Content, SHOWN_BYTES_MAX, What, hex};

/// Most changes that are told of one run; a build makes more, and nobody reads them.
pub(super) const CHANGES_MAX: usize = 1_000;

/// All that is kept to be shown, in bytes.
const SHOWN_IN_ALL_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Folders within folders; below that nobody looks.
const DEPTH_MAX: usize = 64;

/// What is hashed at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// The kernel's mark of a folder that shows nothing of the one below it.
const OPAQUE: &CStr = c"user.overlay.opaque";

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// What a run would have changed, sorted by path. Folders count as far as there are files in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Each file once.
    pub all: Vec<Change>,
    /// True if there are more than are told.
    pub is_cut: bool,
}

impl Change {
    /// Whether the file in the workspace is still what it was before. Blocks on the disk.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn is_current(&self, workspace: &Path) -> io::Result<bool> {
        let root = openat(CWD, workspace, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let links = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let folder = match self.path.parent().filter(|above| !above.as_os_str().is_empty()) {
            None => Some(root),
            Some(above) => openat2(&root, above, FOLDER, Mode::empty(), links).ok(),
        };
        let name = CString::new(self.path.file_name().unwrap_or_default().as_bytes())?;
        let place = folder.as_ref().and_then(|folder| Place::of(folder, &name).ok());
        let place = place.filter(|place| place.kind() != FileType::Directory);
        let now = place.map(|place| Walk::default().content(&place)).transpose()?;
        Ok(match (&self.before, now) {
            (None, None) => true,
            (Some(before), Some(now)) => before.is_same(&now),
            _ => false,
        })
    }
}

/// What lies in `upper` over `workspace`.
pub(super) fn of(upper: &Path, workspace: &Path) -> io::Result<Changes> {
    let open = |path: &Path| openat(CWD, path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let (upper, below) = (open(upper)?, open(workspace)?);
    let mut walk = Walk::default();
    walk.folder(Path::new(""), &upper, Some(&below), false)?;
    walk.changes.all.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(walk.changes)
}

#[derive(Default)]
struct Walk {
    changes: Changes,
    shown_bytes: usize,
}

impl Walk {
    /// What `upper` changes in `below`, the folder in its place, if there is one. Nothing of that shows through where
    /// `hides` says so.
    fn folder(&mut self, at: &Path, upper: &OwnedFd, below: Option<&OwnedFd>, hides: bool) -> io::Result<()> {
        let names = names(upper)?;
        let hides = hides || is_opaque(upper)?;
        if let Some(below) = below.filter(|_| hides) {
            self.gone(at, below, &names)?;
        }
        for name in names {
            let path = at.join(OsStr::from_bytes(name.to_bytes()));
            if self.is_full(&path) {
                return Ok(());
            }
            let here = Place::of(upper, &name)?;
            let was = below.and_then(|below| Place::of(below, &name).ok());
            match here.kind() {
                // The kernel's mark of what is gone.
                FileType::CharacterDevice => was.map_or(Ok(()), |was| self.removed(&path, &was))?,
                FileType::Directory => {
                    let inside = here.open_folder()?;
                    let was_folder = match was {
                        Some(was) if was.kind() == FileType::Directory => Some(was.open_folder()?),
                        Some(was) => self.removed(&path, &was).map(|()| None)?,
                        None => None,
                    };
                    self.folder(&path, &inside, was_folder.as_ref(), hides)?;
                }
                _ => match was {
                    Some(was) if was.kind() == FileType::Directory => {
                        self.removed(&path, &was)?;
                        self.file(What::Added, &path, None, Some(&here))?;
                    }
                    Some(was) => self.file(What::Changed, &path, Some(&was), Some(&here))?,
                    None => self.file(What::Added, &path, None, Some(&here))?,
                },
            }
        }
        Ok(())
    }

    fn removed(&mut self, path: &Path, was: &Place<'_>) -> io::Result<()> {
        match was.kind() {
            FileType::Directory => self.gone(path, &was.open_folder()?, &[]),
            _ => self.file(What::Removed, path, Some(was), None),
        }
    }

    /// All that is in `folder` is gone, but for `kept`, which is told of elsewhere.
    fn gone(&mut self, at: &Path, folder: &OwnedFd, kept: &[Box<CStr>]) -> io::Result<()> {
        for name in names(folder)?.iter().filter(|name| !kept.contains(name)) {
            let path = at.join(OsStr::from_bytes(name.to_bytes()));
            if self.is_full(&path) {
                return Ok(());
            }
            self.removed(&path, &Place::of(folder, name)?)?;
        }
        Ok(())
    }

    fn is_full(&mut self, path: &Path) -> bool {
        let is_full = self.changes.all.len() >= CHANGES_MAX || path.components().count() > DEPTH_MAX;
        self.changes.is_cut |= is_full;
        is_full
    }

    fn file(
        &mut self,
        what: What,
        path: &Path,
        before: Option<&Place<'_>>,
        after: Option<&Place<'_>>,
    ) -> io::Result<()> {
        let mut content = |place: Option<&Place<'_>>| place.map(|place| self.content(place)).transpose();
        let (before, after) = (content(before)?, content(after)?);
        // It was opened for writing, and stayed what it was.
        let is_same =
            before.as_ref().zip(after.as_ref()).is_some_and(|(before, after)| before.is_same(after));
        if !is_same {
            self.changes.all.push(Change { path: path.to_owned(), what, before, after });
        }
        Ok(())
    }

    fn content(&mut self, place: &Place<'_>) -> io::Result<Content> {
        let (sha256, shown) = match place.kind() {
            FileType::RegularFile => match place.open(FILE) {
                Ok(file) => self.read(File::from(file))?,
                // Where we do not get, nobody is shown anything.
                Err(Errno::ACCESS) => (hex(Sha256::new()), None),
                Err(errno) => return Err(errno.into()),
            },
            FileType::Symlink => {
                let to = readlinkat(place.folder, place.name, Vec::new())?.into_bytes();
                (hex(Sha256::new_with_prefix(&to)), Some(to))
            }
            _ => (hex(Sha256::new()), None),
        };
        Ok(Content { mode: place.stat.st_mode, sha256, shown })
    }

    fn read(&mut self, mut file: File) -> io::Result<(String, Option<Vec<u8>>)> {
        let left = SHOWN_IN_ALL_BYTES_MAX.saturating_sub(self.shown_bytes) as u64;
        let is_short = file.metadata()?.len() <= SHOWN_BYTES_MAX.min(left);
        let (mut hash, mut shown, mut chunk) = (Sha256::new(), Vec::new(), vec![0; CHUNK_BYTES]);
        loop {
            let read = file.read(&mut chunk)?;
            let Some(read) = chunk.get(..read).filter(|read| !read.is_empty()) else { break };
            hash.update(read);
            if is_short {
                shown.extend_from_slice(read);
            }
        }
        self.shown_bytes += shown.len();
        Ok((hex(hash), is_short.then_some(shown)))
    }
}

/// An entry of a folder.
struct Place<'f> {
    folder: &'f OwnedFd,
    name: &'f CStr,
    stat: Stat,
}

impl<'f> Place<'f> {
    fn of(folder: &'f OwnedFd, name: &'f CStr) -> io::Result<Place<'f>> {
        Ok(Place { folder, name, stat: statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)? })
    }

    fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    fn open_folder(&self) -> io::Result<OwnedFd> {
        Ok(self.open(FOLDER)?)
    }

    fn open(&self, flags: OFlags) -> Result<OwnedFd, Errno> {
        openat(self.folder, self.name, flags, Mode::empty())
    }
}

/// The names in a folder, sorted.
fn names(folder: &OwnedFd) -> io::Result<Vec<Box<CStr>>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_owned().into_boxed_c_str();
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn is_opaque(folder: &OwnedFd) -> io::Result<bool> {
    match fgetxattr(folder, OPAQUE, &mut [0u8; 8]) {
        Ok(bytes) => Ok(bytes > 0),
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

//! `Place`: an open folder and a plain name in it, which cannot leave it; and how a file gets its new content there: under another
//! name first, which it changes with the present file if that is still the one that was looked at.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, fstat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::error::FileError;
use super::file_ops::FileOps;
use super::inside::Inside;
use super::read::READ_FLAGS;
use super::root::Root;
use super::write::{
    Expect, IsKept, LINKS_MAX, LOOKED_AT_BYTES_MAX, NEW_FILE_MODE, sha256_of, temporary_name,
};

/// Set-user-id and its kin are not carried over to new content.
const KEPT_MODE_BITS: u32 = 0o777;

/// How much of a file is compared at a time, in bytes: it stays in the processor's cache.
const COMPARED_BYTES: usize = 256 * 1024;

/// Where a file is or will be.
pub(super) struct Place<'a> {
    pub(super) ops: &'a dyn FileOps,
    asked: &'a Inside,
    pub(super) folder: File,
    /// No link's.
    pub(super) name: PathBuf,
    /// The file that was there when the place was found.
    pub(super) present: Option<Stat>,
}

/// A file with the new content, under another name.
pub(super) struct New {
    pub(super) file: File,
    temporary: String,
}

/// What is taken for true of the present file, and must be when it is replaced.
pub(super) enum LookedAt<'c> {
    /// Nothing, and nobody cares.
    Anything,
    /// It is not there.
    Absent,
    /// What is in it.
    Content(Cow<'c, [u8]>),
}

impl<'a> Place<'a> {
    /// Follows links from `asked` one by one; each hop is resolved beneath the root again.
    pub(super) fn find(root: &'a Root, asked: &'a Inside) -> Result<Place<'a>, FileError> {
        let mut path = asked.as_path().to_owned();
        for _ in 0..LINKS_MAX {
            let Some(name) = path.file_name().map(PathBuf::from) else {
                return Err(FileError::not_a_file(asked, FileType::Directory));
            };
            // Before any folder is made on the way.
            let real = root.real_target(&path).map_err(FileError::of(asked))?;
            root.refuse_unagreed(asked, &real)?;
            let parent = path.parent().filter(|parent| *parent != "").unwrap_or(Path::new("."));
            let folder = root.folder_for_writing(parent).map_err(FileError::of(asked))?;
            let present = match statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => Some(stat),
                Err(Errno::NOENT) => None,
                Err(errno) => return Err(FileError::of_errno(asked)(errno)),
            };
            match present.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
                None | Some(FileType::RegularFile) => {
                    return Ok(Place { ops: &*root.opened.ops, asked, folder, name, present });
                }
                Some(FileType::Symlink) => {
                    let target = link_target(&folder, &name).map_err(FileError::of_errno(asked))?;
                    path = parent.join(target);
                }
                Some(other) => return Err(FileError::not_a_file(asked, other)),
            }
        }
        Err(FileError::Outside)
    }

    /// Writes the content under another name; it is on the disk then.
    pub(super) fn fill(&self, bytes: &[u8]) -> Result<New, FileError> {
        let kept = self.present.map(|stat| stat.st_mode & KEPT_MODE_BITS);
        let mode = Mode::from_raw_mode(kept.unwrap_or(NEW_FILE_MODE));
        let temporary = temporary_name()?;
        let file = self.ops.create(&self.folder, &temporary, mode).map_err(self.error())?;
        let new = New { file, temporary };
        let written = self.ops.write(&new.file, bytes).map_err(FileError::Io).and_then(|()| match kept {
            // Creation went through the umask.
            Some(_) => self.ops.set_mode(&new.file, mode).map_err(self.error()),
            None => Ok(()),
        });
        let synced = written.and_then(|()| self.ops.sync(&new.file).map_err(FileError::Io));
        synced.inspect_err(|_| self.discard(&new))?;
        Ok(new)
    }

    /// Removes a new file that did not come to its place: nothing else, whatever bears its other name by now. Best effort: the
    /// failure to be reported is another.
    pub(super) fn discard(&self, new: &New) {
        let found = statat(&self.folder, &new.temporary, AtFlags::SYMLINK_NOFOLLOW);
        if let (Ok(found), Ok(ours)) = (found, fstat(&new.file))
            && (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino)
        {
            let _ = self.ops.remove(&self.folder, &new.temporary);
        }
    }

    /// Looks at the present file, as far as somebody wants to know: refuses if it is not as expected, or is kept.
    pub(super) fn look<'c>(
        &self,
        expect: &'c Expect,
        is_kept: Option<IsKept<'_>>,
    ) -> Result<LookedAt<'c>, FileError> {
        let content = match (expect, is_kept) {
            (Expect::Anything, None) => return Ok(LookedAt::Anything),
            (Expect::Absent, _) if self.present.is_none() => return Ok(LookedAt::Absent),
            (Expect::Absent, _) => return Err(self.changed()),
            // It is compared when it is replaced; most others are told at once.
            (Expect::Content(expected), _) if self.has_as_many(expected) => Cow::Borrowed(&expected[..]),
            (Expect::Content(_), _) => return Err(self.changed()),
            (Expect::Anything | Expect::Sha256(_), _) => match (self.content(&self.name)?, expect) {
                (Some(present), _) => Cow::Owned(present),
                (None, Expect::Sha256(_)) => return Err(FileError::Changed(None)),
                (None, _) => return Ok(LookedAt::Absent),
            },
        };
        if is_kept.is_some_and(|is_kept| is_kept(&content)) {
            return Err(FileError::Kept);
        }
        if let Expect::Sha256(expected) = expect {
            let found = sha256_of(&content);
            if !found.eq_ignore_ascii_case(expected) {
                return Err(FileError::Changed(Some(found)));
            }
        }
        Ok(LookedAt::Content(content))
    }

    /// Gives the new file its name and removes what had it, if that is what was looked at and nothing else.
    pub(super) fn put(&self, new: &New, looked_at: &LookedAt<'_>) -> Result<(), FileError> {
        let (flags, expected) = match looked_at {
            LookedAt::Anything => return self.rename(new),
            LookedAt::Absent => (RenameFlags::NOREPLACE, None),
            LookedAt::Content(content) => (RenameFlags::EXCHANGE, Some(&**content)),
        };
        if let Err(error) = self.move_to_name(new, flags) {
            return match Errno::from_io_error(&error) {
                // Some file systems cannot do it in one step.
                Some(Errno::INVAL | Errno::NOSYS) if self.is_as(expected)? => self.rename(new),
                Some(Errno::INVAL | Errno::NOSYS | Errno::EXIST) => Err(self.changed()),
                _ => Err(self.error()(error)),
            };
        }
        let Some(expected) = expected else { return Ok(()) };
        // It bears the other name now, and nobody looks for it there.
        match self.holds(Path::new(&new.temporary), expected) {
            Ok(true) => {
                // Best effort: the file is written, whether or not the old one stays beside it.
                let _ = self.ops.remove(&self.folder, &new.temporary);
                Ok(())
            }
            Ok(false) | Err(_) => self.move_back(new).and_then(|()| Err(self.changed())),
        }
    }

    /// Gives what had the name before the new file its name again. It may be a folder by now, so they are exchanged.
    fn move_back(&self, new: &New) -> Result<(), FileError> {
        let moved = match self.move_to_name(new, RenameFlags::EXCHANGE) {
            // Somebody has removed ours.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.move_to_name(new, RenameFlags::NOREPLACE)
            }
            moved => moved,
        };
        moved.map_err(self.error())
    }

    fn rename(&self, new: &New) -> Result<(), FileError> {
        self.move_to_name(new, RenameFlags::empty()).map_err(self.error())
    }

    fn move_to_name(&self, new: &New, flags: RenameFlags) -> io::Result<()> {
        self.ops.rename(&self.folder, &new.temporary, &self.name, flags)
    }

    /// The file is not as it was expected to be.
    fn changed(&self) -> FileError {
        match self.content(&self.name) {
            Ok(content) => FileError::Changed(content.as_deref().map(sha256_of)),
            Err(error) => error,
        }
    }

    /// Whether the file has this content; for none, whether it is not there.
    fn is_as(&self, expected: Option<&[u8]>) -> Result<bool, FileError> {
        match expected {
            Some(expected) => self.holds(&self.name, expected),
            None => Ok(self.opened(&self.name)?.is_none()),
        }
    }

    /// Whether the file had as many bytes as this when the place was found.
    fn has_as_many(&self, expected: &[u8]) -> bool {
        self.present.is_some_and(|stat| usize::try_from(stat.st_size) == Ok(expected.len()))
    }

    /// Whether a file of the folder is there and has just this content.
    fn holds(&self, name: &Path, expected: &[u8]) -> Result<bool, FileError> {
        let Some(mut file) = self.opened(name)? else { return Ok(false) };
        let (mut rest, mut part) = (expected, vec![0; COMPARED_BYTES.min(expected.len() + 1)]);
        loop {
            match file.read(&mut part) {
                Ok(0) => return Ok(rest.is_empty()),
                Ok(read) => match rest.split_at_checked(read) {
                    Some((same, behind)) if same == &part[..read] => rest = behind,
                    _ => return Ok(false),
                },
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.error()(error)),
            }
        }
    }

    /// What is in a file of the folder; `None` if there is none.
    fn content(&self, name: &Path) -> Result<Option<Vec<u8>>, FileError> {
        let Some(file) = self.opened(name)? else { return Ok(None) };
        let bytes = file.metadata().map_or(0, |meta| meta.len()).min(LOOKED_AT_BYTES_MAX as u64);
        // With room for one more, a full read shows its end without growing.
        let mut content = Vec::with_capacity(bytes as usize + 1);
        file.take(LOOKED_AT_BYTES_MAX as u64 + 1).read_to_end(&mut content).map_err(self.error())?;
        if content.len() > LOOKED_AT_BYTES_MAX {
            let what = "the present file, which must be looked at first,";
            return Err(FileError::TooLarge { what, max: LOOKED_AT_BYTES_MAX, unit: "bytes" });
        }
        Ok(Some(content))
    }

    fn opened(&self, name: &Path) -> Result<Option<File>, FileError> {
        match openat(&self.folder, name, READ_FLAGS | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(file) => Ok(Some(File::from(file))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.error()(errno.into())),
        }
    }

    pub(super) fn error(&self) -> impl FnOnce(io::Error) -> FileError + '_ {
        FileError::of(self.asked)
    }
}

/// What a link says. Joined to the link's folder, an absolute one replaces it, and the next hop
/// refuses it like every absolute path.
pub(super) fn link_target(folder: &File, name: &Path) -> rustix::io::Result<PathBuf> {
    let target = readlinkat(folder, name, Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
}

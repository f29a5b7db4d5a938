//! Reading a regular file below a root. Few system calls for a small one: open, stat, read, close; and where it lies,
//! if links led to it and anything is protection.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::time::SystemTime;

use rustix::buffer::spare_capacity;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::{Errno, pread};

use super::error::FileError;
use super::inside::Inside;
use super::root::Root;

/// A part of a file, and what is known of the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePart {
    /// The bytes from the offset on; fewer than asked for at the end of the file.
    pub bytes: Vec<u8>,
    /// The size of the whole file when it was opened.
    pub total_bytes: u64,
    /// When the content last changed.
    pub modified: SystemTime,
}

/// What is known of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    /// The size when it was looked at.
    pub bytes: u64,
    /// When the content last changed.
    pub modified: SystemTime,
}

/// A named pipe must not make us wait for its other end.
pub(super) const READ_FLAGS: OFlags = OFlags::NONBLOCK.union(OFlags::CLOEXEC).union(OFlags::NOCTTY);

impl Root {
    /// Reads at most `bytes_max` bytes from `offset` on; an offset past the end reads nothing.
    pub fn read(&self, path: &Inside, offset: u64, bytes_max: usize) -> Result<FilePart, FileError> {
        let (file, meta) = self.open_read(path)?;
        read_part(&file, meta, offset, bytes_max)
    }

    /// Opens a regular file for reading as a stream; anything else is refused with `NotAFile`.
    pub fn open_read(&self, path: &Inside) -> Result<(File, Meta), FileError> {
        let file = match self.open_without_links(path) {
            Some(file) => {
                self.protection.check_named(path)?;
                file
            }
            None => {
                let file = self.open_beneath(path.as_path(), READ_FLAGS).map_err(FileError::of(path))?;
                self.protection.check_readable(&file, path)?;
                file
            }
        };
        let meta = regular(&file, path)?;
        Ok((file, meta))
    }

    /// Opens what no link leads to, which therefore lies where its path says. Nothing if there is a link on the way, or
    /// anything else is the matter.
    fn open_without_links(&self, path: &Inside) -> Option<File> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
        let flags = READ_FLAGS | OFlags::RDONLY;
        let opened = openat2(&*self.opened.dir(), path.as_path(), flags, Mode::empty(), resolve);
        opened.ok().map(File::from)
    }
}

/// Holds that `file` is a regular file.
pub(super) fn regular(file: &File, path: &Inside) -> Result<Meta, FileError> {
    let found = file.metadata().map_err(FileError::Io)?;
    if !found.is_file() {
        return Err(FileError::not_a_file(path, FileType::from_raw_mode(found.mode())));
    }
    Ok(Meta { bytes: found.len(), modified: found.modified().map_err(FileError::Io)? })
}

pub(super) fn read_part(
    file: &File,
    meta: Meta,
    offset: u64,
    bytes_max: usize,
) -> Result<FilePart, FileError> {
    let left = meta.bytes.saturating_sub(offset);
    let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(bytes_max);
    let mut bytes = Vec::with_capacity(wanted);
    // The size is known, so a full read needs no second one to see the end.
    while bytes.len() < wanted {
        let at = offset + bytes.len() as u64;
        match pread(file, spare_capacity(&mut bytes), at) {
            Ok(0) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(FileError::Io(errno.into())),
        }
    }
    bytes.truncate(wanted);
    Ok(FilePart { bytes, total_bytes: meta.bytes, modified: meta.modified })
}

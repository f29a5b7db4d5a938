//! A file, a link or a folder copied from one open folder to another, for file systems between which nothing can be renamed.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::AsFd;
use std::path::Path;

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};
use rustix::fs::{Mode, OFlags, openat};

use super::read::READ_FLAGS;

/// The mode of a copy until it is whole.
const UNFINISHED_MODE: u32 = 0o600;

/// Copies an entry with all that is in it: contents and permissions. What is no file, link or folder refuses the whole.
pub(super) fn copy_tree((from, name): (&Dir, &Path), (to, to_name): (&Dir, &Path)) -> io::Result<()> {
    let meta = from.symlink_metadata(name)?;
    if meta.is_symlink() {
        return to.symlink_contents(from.read_link_contents(name)?, to_name);
    }
    if meta.is_file() {
        return copy_file((from, name), (to, to_name));
    }
    if !meta.is_dir() {
        return Err(io::Error::new(ErrorKind::Unsupported, "a pipe, a socket or a device cannot be copied"));
    }
    to.create_dir(to_name)?;
    let (inner, copy) = (from.open_dir(name)?, to.open_dir(to_name)?);
    for entry in inner.entries()? {
        let name = entry?.file_name();
        copy_tree((&inner, Path::new(&name)), (&copy, Path::new(&name)))?;
    }
    to.set_permissions(to_name, meta.permissions())
}

fn copy_file((from, name): (&Dir, &Path), (to, to_name): (&Dir, &Path)) -> io::Result<()> {
    let (copy, meta) = copied((from, name), (to, to_name), u64::MAX)?;
    copy.set_permissions(meta.permissions())?;
    copy.sync_all()
}

/// Copies a file that has at most so many bytes, and gives the copy, which only its owner may read yet, with what is known of
/// the file: as many bytes as it has when it is opened, so that one that is written meanwhile comes to an end.
pub(super) fn copied(
    (from, name): (impl AsFd, &Path),
    (to, to_name): (&Dir, &Path),
    bytes_max: u64,
) -> io::Result<(File, Metadata)> {
    let source = File::from(openat(from, name, READ_FLAGS | OFlags::NOFOLLOW, Mode::empty())?);
    let meta = source.metadata()?;
    if !meta.is_file() || meta.len() > bytes_max {
        return Err(io::Error::new(ErrorKind::Unsupported, "it is no file any more, or is too large"));
    }
    let mut options = OpenOptions::new();
    let copy = to.open_with(to_name, options.write(true).create_new(true).mode(UNFINISHED_MODE))?;
    // Between two files of the system, the system copies by itself.
    let mut copy = copy.into_std();
    io::copy(&mut source.take(meta.len()), &mut copy)?;
    Ok((copy, meta))
}

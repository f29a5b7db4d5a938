//! A file, a link or a folder copied from one open folder to another, for file systems between which nothing can be renamed.

use std::io::{self, ErrorKind};
use std::path::Path;

use cap_std::fs::Dir;

/// Copies an entry with all that is in it: contents and permissions. What is no file, link or folder refuses the whole.
pub(super) fn copy_tree((from, name): (&Dir, &Path), (to, to_name): (&Dir, &Path)) -> io::Result<()> {
    let meta = from.symlink_metadata(name)?;
    if meta.is_symlink() {
        return to.symlink_contents(from.read_link_contents(name)?, to_name);
    }
    if meta.is_file() {
        from.copy(name, to, to_name)?;
        return to.open(to_name)?.sync_all();
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

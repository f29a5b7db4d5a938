//! The state folder and its files, private to their owner.
#![expect(clippy::disallowed_methods, reason = "the store is a declared home of files")]

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Only the owner may enter: the folder tells what they did.
const FOLDER_MODE: u32 = 0o700;

/// Only the owner may read.
const FILE_MODE: u32 = 0o600;

/// What the system found; nothing where there is nothing of that name.
pub fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Creates a folder that only its owner may enter, and the folders above it. One that exists stays as its
/// owner made it.
pub fn create_private(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(dir)
}

/// Makes a file that only its owner may read, unless there is one by now. It gets its name when it is whole: another
/// process must never find half a one, and of two that make one at the same time the first wins. Once this returns it
/// survives a crash of the machine.
pub fn create_whole(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let random = getrandom::u64().map_err(io::Error::other)?;
    let draft = dir.join(format!("{name}.{random:016x}"));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&draft)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    let linked = written.and_then(|()| match fs::hard_link(&draft, dir.join(name)) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    });
    // One that stays is a second name of the file, or one that nobody uses.
    let _ = fs::remove_file(&draft);
    linked?;
    File::open(dir)?.sync_all()
}

//! The state folder, private to its owner.
#![expect(clippy::disallowed_methods, reason = "the store is a declared home of files")]

use std::{fs::DirBuilder, io, os::unix::fs::DirBuilderExt, path::Path};

/// Only the owner may enter: the folder tells what they did.
const FOLDER_MODE: u32 = 0o700;

/// Creates a folder that only its owner may enter, and the folders above it. One that exists stays as its
/// owner made it.
pub fn create_private(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(dir)
}

//! The key that seals secrets: a file beside the database that only its owner may read, made when it is first needed.
//! It keeps a copy of the database alone, in a backup for example, from being of use.
#![expect(clippy::disallowed_methods, reason = "the store is a declared home of files")]

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
};

use ring::aead::{CHACHA20_POLY1305, LessSafeKey, UnboundKey};

use crate::{StoreError, folder};

/// The file's name within the state folder.
pub(crate) const FILE: &str = "secret.key";

/// The length of a key, in bytes.
const KEY_BYTES: usize = 32;

/// Only the owner may read it.
const FILE_MODE: u32 = 0o600;

/// The key in `dir`, if there is one.
pub(crate) fn load(dir: &Path) -> Result<Option<LessSafeKey>, StoreError> {
    let path = dir.join(FILE);
    let cannot = |source| StoreError::Folder { dir: dir.to_owned(), source };
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == ErrorKind::NotADirectory => return Err(cannot(error)),
        Err(error) => return Err(wrong(&path, format!("cannot be read ({error}); check its permissions"))),
    };
    let found = file.metadata().map_err(cannot)?;
    let mode = found.permissions().mode() & 0o777;
    if !found.is_file() {
        return Err(wrong(&path, "is no file; move it away, and sign in to your servers again".to_owned()));
    }
    if mode & 0o077 != 0 {
        let why = format!(
            "may be used by others than its owner (mode {mode:o}), so that what it seals is no secret; \
             run `chmod 600` on it if nobody else has read it, or else move it away, and sign in to your \
             servers again"
        );
        return Err(wrong(&path, why));
    }
    if found.len() != KEY_BYTES as u64 {
        let why = format!(
            "has {} bytes and not {KEY_BYTES}; put the right one back, or move it away, and sign in to your servers again",
            found.len()
        );
        return Err(wrong(&path, why));
    }
    let mut key = [0; KEY_BYTES];
    file.read_exact(&mut key).map_err(cannot)?;
    let key = UnboundKey::new(&CHACHA20_POLY1305, &key).expect("the key has the algorithm's length");
    Ok(Some(LessSafeKey::new(key)))
}

fn wrong(file: &Path, why: String) -> StoreError {
    StoreError::Key { file: file.to_owned(), why }
}

/// Makes a key in `dir`, where there was none a moment ago. If there is one by now, it is that one.
pub(crate) fn make(dir: &Path) -> Result<LessSafeKey, StoreError> {
    let cannot = |source| StoreError::Folder { dir: dir.to_owned(), source };
    folder::create_private(dir).and_then(|()| put(dir, &dir.join(FILE))).map_err(cannot)?;
    load(dir)?.ok_or_else(|| cannot(ErrorKind::NotFound.into()))
}

/// Puts a new key at `path`, whole or not at all, unless there is one by now.
fn put(dir: &Path, path: &Path) -> io::Result<()> {
    let mut random = [0; KEY_BYTES + size_of::<u64>()];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    let (key, name) = random.split_at(KEY_BYTES);
    let name: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
    let draft = dir.join(format!("{FILE}.{name}"));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&draft)?;
    let written = file.write_all(key).and_then(|()| file.sync_all());
    let linked = written.and_then(|()| match fs::hard_link(&draft, path) {
        // Somebody was faster, and has sealed something with that key already, perhaps.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    });
    fs::remove_file(&draft)?;
    linked?;
    // What is sealed must not outlive its key.
    File::open(dir)?.sync_all()
}

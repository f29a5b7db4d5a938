//! The database's files, and what their errors mean.
#![expect(clippy::disallowed_methods, reason = "the store is a declared home of files")]

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process;

use rusqlite::{Error, ErrorCode};

use super::busy::lock;
use super::identity::{Node, Paths, beside};
use crate::error::{Met, StoreError};
use crate::folder::found;

/// The database's name within the state folder.
pub(super) const FILE: &str = "toolcrib.db";

/// Only the owner may read what their upstreams offer, and with what they are signed in.
const FILE_MODE: u32 = 0o600;

/// What SQLite needs to begin with, in bytes: the memory that processes share.
const PROBE_BYTES: usize = 32 * 1024;

/// Makes the database's file for its owner alone, and takes from its files what others may do with them: one that was
/// copied here may have brought it along. Gives where the files are, and which one the database is.
pub(super) fn prepare(dir: &Path) -> Result<(Paths, Node), StoreError> {
    let (named, failed) = (dir.join(FILE), StoreError::folder(dir));
    if !named.try_exists().map_err(failed)? {
        create_for_owner(dir, &named)?;
    }
    let closed = || {
        let paths = Paths::of(&named)?;
        [&paths.database, &paths.log, &paths.memory]
            .into_iter()
            .try_for_each(|file| close_to_others(file))?;
        // They had the database's mode, and it may be another one by now.
        [&paths.log, &paths.memory].into_iter().try_for_each(|file| let_write(file, &paths.database))?;
        let node = Node::of(&paths.database)?;
        Ok((paths, node))
    };
    closed().map_err(failed)
}

/// Creates the file for its owner alone, since SQLite would leave its mode to the umask. A file that exists
/// is not even opened: closing it would drop the locks this process holds on it through SQLite.
fn create_for_owner(dir: &Path, path: &Path) -> Result<(), StoreError> {
    // Until this ends nobody else makes one, so what lies beside is none of a new database.
    let _locked = lock(dir)?;
    let create = || {
        if path.try_exists()? {
            return Ok(());
        }
        // Others may still have the one open that was removed: they must not share their memory with this.
        for file in beside(path) {
            found(fs::remove_file(file))?;
        }
        OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path).map(drop)
    };
    create().map_err(StoreError::unwritten(dir))
}

/// SQLite gives new files beside the database the database's mode.
fn close_to_others(path: &Path) -> io::Result<()> {
    match found(fs::metadata(path))? {
        Some(found) if found.permissions().mode() & 0o077 != 0 => {
            fs::set_permissions(path, Permissions::from_mode(FILE_MODE))
        }
        _ => Ok(()),
    }
}

/// Has the owner write what lies beside a database that they may write.
fn let_write(path: &Path, database: &Path) -> io::Result<()> {
    let Some(found) = found(fs::metadata(path))? else { return Ok(()) };
    let of_database = fs::metadata(database)?.permissions();
    let differs = of_database.mode() & !found.permissions().mode() & 0o200 != 0;
    if differs { fs::set_permissions(path, of_database) } else { Ok(()) }
}

/// How long the database is; nothing if there is none. One question to the system.
pub(super) fn length(dir: &Path) -> io::Result<Option<u64>> {
    length_of(&dir.join(FILE))
}

/// How long a file is; nothing if there is none.
pub(super) fn length_of(path: &Path) -> io::Result<Option<u64>> {
    Ok(found(fs::metadata(path))?.map(|found| found.len()))
}

pub(super) fn is_busy(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// What an error of the database means; any other stays as it is.
pub(super) fn explain(dir: &Path, error: StoreError) -> StoreError {
    let StoreError::Database(cause) = error else { return error };
    let error = match cause.downcast::<Error>() {
        Ok(error) => error,
        Err(other) => return StoreError::Database(other),
    };
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => StoreError::Damaged,
        Some(ErrorCode::DiskFull) => StoreError::NoSpace,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreError::Unwritable(met(dir, &error)),
        // SQLite tells of a disk that is full, or for reading only, as of one that does not work.
        Some(code @ (ErrorCode::SystemIoFailure | ErrorCode::CannotOpen)) => match try_to_write(dir) {
            Err(hindered @ (StoreError::NoSpace | StoreError::Unwritable(_))) => hindered,
            _ if code == ErrorCode::CannotOpen => StoreError::Folder(met(dir, &error)),
            _ => StoreError::Database(error),
        },
        _ if is_busy(&error) => StoreError::Busy,
        _ => StoreError::Database(error),
    }
}

fn met(dir: &Path, error: &Error) -> Met {
    Met { path: dir.join(FILE), what: error.to_string() }
}

/// An error with all its causes, as one sentence.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Writes a file of its own, which is gone afterwards.
fn try_to_write(dir: &Path) -> Result<(), StoreError> {
    let path = dir.join(format!("{FILE}.{}.tried", process::id()));
    let file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&path);
    let written = file.and_then(|mut file| file.write_all(&[0; PROBE_BYTES]));
    // One that stays is empty, or as good as that.
    let _ = fs::remove_file(&path);
    written.map_err(StoreError::unwritten(dir))
}

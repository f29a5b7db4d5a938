//! A database on a full disk. Whoever opens it first cannot make the memory that processes share then; what it holds can
//! be read all the same, by one process at a time.
#![expect(clippy::disallowed_methods, reason = "the store is a declared home of files")]

use std::{
    fs::{self, OpenOptions},
    io::{ErrorKind, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    process,
};

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};

use super::{BUSY_WAIT_MAX, FILE, FILE_MODE, explain};
use crate::{StoreError, schema};

/// What SQLite needs to begin with, in bytes: the memory that processes share.
const TRIED_BYTES: usize = 32 * 1024;

/// Whether the disk is full, if that would explain this error: SQLite tells of most as of one that does not work.
pub(super) fn is_why(dir: &Path, error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => true,
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => is_full(dir),
        _ => false,
    }
}

/// Tries it with a file of its own, which is gone afterwards.
fn is_full(dir: &Path) -> bool {
    let path = dir.join(format!("{FILE}.{}.tried", process::id()));
    let file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&path);
    let tried = file.and_then(|mut file| file.write_all(&[0; TRIED_BYTES]));
    // One that stays is empty, or as good as that.
    let _ = fs::remove_file(&path);
    let is_full =
        |kind| matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge);
    tried.is_err_and(|error| is_full(error.kind()))
}

/// Does what only looks. The database is nobody else's for that moment, so that no memory need be shared, and stays as
/// it is.
pub(super) fn read<T>(
    path: &Path,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> Result<T, StoreError> {
    let why = |error| match explain(error) {
        StoreError::Database(_) => StoreError::NoSpace { file: FILE },
        other => other,
    };
    let connection = open(path).map_err(why)?;
    match schema::version(&connection).map_err(why)? {
        schema::VERSION => work(&connection).map_err(why),
        found if found > schema::VERSION => {
            Err(StoreError::Newer { file: FILE, found, known: schema::VERSION })
        }
        // It would have to be brought up to date first.
        _ => Err(StoreError::NoSpace { file: FILE }),
    }
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_WAIT_MAX)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "locking_mode", "exclusive")?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

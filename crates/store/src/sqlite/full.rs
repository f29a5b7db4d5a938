//! A database on a full disk. Whoever opens it first cannot make the memory that processes share then; what it holds can
//! be read all the same, by one process at a time.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, config::DbConfig};

use super::busy::BUSY_WAIT_MAX;
use super::file::{FILE, explain};
use super::schema;
use crate::error::StoreError;

/// Does what only reads. The database is nobody else's for that moment, so that no memory need be shared, and stays as
/// it is.
pub(super) fn read<T>(
    dir: &Path,
    work: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let explain = |error: StoreError| match explain(dir, error) {
        StoreError::Database(_) | StoreError::Unwritable(_) => StoreError::NoSpace,
        other => other,
    };
    let connection = open(&dir.join(FILE)).map_err(|error| explain(error.into()))?;
    match schema::version(&connection).map_err(|error| explain(error.into()))? {
        // What only reads finds the same in both.
        schema::BEFORE | schema::VERSION => work(&connection).map_err(explain),
        // It would have to be made first.
        0 => Err(StoreError::NoSpace),
        found => Err(StoreError::OtherVersion { found, known: schema::VERSION }),
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

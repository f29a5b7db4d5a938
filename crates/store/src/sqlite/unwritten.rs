//! A database that nothing can be written beside: the disk is full, or its folder is for reading only. Whoever opens it first
//! cannot make the memory that processes share then; what it holds can be read all the same, by one process at a time.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rusqlite::{Connection, OpenFlags, config::DbConfig};

use super::busy::BUSY_WAIT_MAX;
use super::file::{FILE, explain, length_of};
use super::identity::Paths;
use super::schema;
use crate::error::StoreError;

/// What a path may not hold as it is where it stands in an address.
const IN_ADDRESSES: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/');

/// Does what only reads. `hindered` is why the database could not be opened to write, and what is told to who would.
pub(super) fn read<T>(
    dir: &Path,
    hindered: StoreError,
    work: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let read = || {
        let connection = open(dir, &hindered)?;
        match schema::version(&connection)? {
            // What only reads finds the same in both.
            schema::BEFORE | schema::VERSION => work(&connection),
            // It would have to be made first.
            0 => Err(StoreError::NoSpace),
            found => Err(StoreError::OtherVersion { found, known: schema::VERSION }),
        }
    };
    match read().map_err(|error| explain(dir, error)) {
        Err(StoreError::Database(_) | StoreError::Unwritable(_) | StoreError::NoSpace) => Err(hindered),
        done => done,
    }
}

fn open(dir: &Path, hindered: &StoreError) -> Result<Connection, StoreError> {
    let failed = StoreError::folder(dir);
    let paths = Paths::of(&dir.join(FILE)).map_err(failed)?;
    let has_log = length_of(&paths.log).map_err(failed)?.is_some_and(|bytes| bytes > 0);
    match hindered {
        StoreError::Unwritable(_) if !has_log => open_whole(&paths.database),
        _ => open_alone(&paths.database),
    }
    .map_err(StoreError::from)
}

/// The database is nobody else's for that moment, so that no memory need be shared, and stays as it is.
fn open_alone(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_WAIT_MAX)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "locking_mode", "exclusive")?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// All that was committed is in the file, and nobody changes it: without a log nobody has it open, and no log can be made in a
/// folder for reading only. SQLite would make one just to read.
fn open_whole(path: &Path) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let path = percent_encode(path.as_os_str().as_bytes(), IN_ADDRESSES);
    Connection::open_with_flags(format!("file:{path}?immutable=1"), flags)
}

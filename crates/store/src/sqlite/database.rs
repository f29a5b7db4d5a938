//! The connection to the database, opened when it is first needed.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::busy::{BUSY_RETRY, BUSY_WAIT_MAX};
use super::file;
use super::identity::Identity;
use super::last_write::LastWrite;
use super::{schema, unwritten};
use crate::cell::Kind;
use crate::error::StoreError;
use crate::folder;
use crate::sentinel::Sentinel;

/// Most statements that are kept ready: more than there are different ones.
const STATEMENTS_MAX: usize = 64;

/// One connection: SQLite has one writer, and our reads are rare.
pub(super) struct Database {
    dir: PathBuf,
    open: Option<Open>,
    lost: Arc<AtomicU64>,
    last_write: Arc<LastWrite>,
}

/// A connection, and the files that it is to.
struct Open {
    connection: Connection,
    files: Identity,
}

impl Database {
    /// The one in this folder. `lost` counts how often it was found to be gone, another one or damaged while it was in use.
    pub(super) fn new(dir: PathBuf, lost: Arc<AtomicU64>, last_write: Arc<LastWrite>) -> Database {
        Database { dir, open: None, lost, last_write }
    }

    /// Runs `work` on the connection, which is opened first if need be. An opening that did not succeed is tried again
    /// by the next call.
    ///
    /// # Errors
    /// Also if the files are others than were opened: what is written into one that has no name any more is lost. The next
    /// call opens what is there then. If it cannot be seen which they are, nothing is done.
    pub(super) fn run<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let open = match self.open.take() {
            Some(open) => open,
            None => match self.open() {
                Ok(open) => open,
                Err(error) => {
                    self.last_write.failed(&self.dir, &error);
                    let is_read = matches!(error, StoreError::NoSpace | StoreError::Unwritable(_));
                    return if is_read { unwritten::read(&self.dir, error, work) } else { Err(error) };
                }
            },
        };
        // Also one that was opened just now, which may have been replaced meanwhile.
        let is_in_place = open.files.is_in_place().map_err(StoreError::folder(&self.dir));
        let left = is_in_place.and_then(|is_in_place| match is_in_place {
            true => Ok(false),
            false => open.files.leave(&open.connection).map(|()| true),
        });
        let open = self.open.insert(open);
        match left {
            Ok(false) => {}
            Ok(true) => {
                self.close();
                tracing::error!("{}", StoreError::Gone);
                return Err(StoreError::Gone);
            }
            // It stays open, and the next call tries again.
            Err(error) => return Err(self.explain(error)),
        }
        let before = open.connection.total_changes();
        let done = work(&open.connection);
        if done.is_ok() && open.connection.total_changes() > before {
            self.last_write.succeeded(&self.dir);
        }
        let done = done.map_err(|error| self.explain(error));
        match done {
            Err(StoreError::Damaged) => self.close(),
            // A file that was opened for reading only stays so, and its memory with it for all connections of a process,
            // whatever its permissions are by then: so none stays open meanwhile. Nothing of it is lost.
            _ if self.last_write.finds_it_unwritable() => self.open = None,
            _ => {}
        }
        done
    }

    /// What an error of the connection means.
    pub(super) fn explain(&self, error: StoreError) -> StoreError {
        let error = file::explain(&self.dir, error);
        self.last_write.failed(&self.dir, &error);
        error
    }

    /// Opens it again with the next call, which may find another one: one that was repaired, or replaced by a copy.
    pub(super) fn close(&mut self) {
        if self.open.take().is_some() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn open(&self) -> Result<Open, StoreError> {
        folder::create_private(&self.dir).map_err(StoreError::unwritten(&self.dir))?;
        let (paths, database) = file::prepare(&self.dir)?;
        let explain = |error: rusqlite::Error| file::explain(&self.dir, error.into());
        let mut connection = Connection::open(&paths.database).map_err(explain)?;
        connection.busy_timeout(BUSY_WAIT_MAX).map_err(explain)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        // Before anything is changed: a database of a version that is not known is left exactly as it is.
        let found = schema::version(&connection).map_err(explain)?;
        if ![0, schema::BEFORE, schema::VERSION].contains(&found) {
            return Err(StoreError::OtherVersion { found, known: schema::VERSION });
        }
        use_write_ahead_log(&connection).map_err(explain)?;
        schema::begin(&mut connection).map_err(explain)?;
        // Not while it is being made: until then an empty file is a beginning. It tells of a loss and protects nothing, so a
        // disk that has no room for it is no reason to serve nothing.
        let _ = Sentinel::Database.make(&self.dir);
        match Identity::of(paths, database) {
            Ok(files) => Ok(Open { connection, files }),
            // They were there a moment ago, or this process still has a memory in use that has no name any more.
            Err(error) if error.kind() == ErrorKind::NotFound => Err(StoreError::Gone),
            Err(error) => Err(StoreError::folder(&self.dir)(error)),
        }
    }
}

/// Does `work` in a transaction that survives a crash of the machine once `work` has committed it.
pub(super) fn durably<T>(
    connection: &Connection,
    work: impl FnOnce(Transaction<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    connection.pragma_update(None, "synchronous", "full")?;
    let done = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
        .map_err(StoreError::from)
        .and_then(work);
    connection.pragma_update(None, "synchronous", "normal")?;
    done
}

/// How often cells of a kind were changed.
pub(super) fn changes(connection: &Connection, kind: Kind) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare("SELECT count FROM changes WHERE kind = ?1")?;
    let count: Option<i64> = statement.query_row([kind.as_str()], |row| row.get(0)).optional()?;
    Ok(count.unwrap_or(0).cast_unsigned())
}

/// Readers and the writer do not wait for each other. A crash of the machine may take the last commits, a
/// crash of the process takes none.
fn use_write_ahead_log(connection: &Connection) -> rusqlite::Result<()> {
    let deadline = Instant::now() + BUSY_WAIT_MAX;
    // SQLite does not wait by itself when two processes change the mode at once.
    while let Err(error) = connection.pragma_update(None, "journal_mode", "wal") {
        if !file::is_busy(&error) || Instant::now() >= deadline {
            return Err(error);
        }
        thread::sleep(BUSY_RETRY);
    }
    connection.pragma_update(None, "synchronous", "normal")
}

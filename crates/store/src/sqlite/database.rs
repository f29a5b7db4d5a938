//! The connection to the database, opened when it is first needed.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::file::{self, BUSY_WAIT_MAX, FILE, Identity};
use super::{full, schema};
use crate::cell::Kind;
use crate::error::StoreError;
use crate::folder;
use crate::sentinel::Sentinel;

/// How often to try again where SQLite does not wait by itself.
const BUSY_RETRY: Duration = Duration::from_millis(10);

/// Most statements that are kept ready: more than there are different ones.
const STATEMENTS_MAX: usize = 64;

/// One connection: SQLite has one writer, and our reads are rare.
pub(super) struct Database {
    dir: PathBuf,
    open: Option<Open>,
    lost: Arc<AtomicU64>,
}

/// A connection, and the files that it is to.
struct Open {
    connection: Connection,
    files: Identity,
}

impl Database {
    /// The one in this folder. `lost` counts how often it was found to be gone, or another one, while it was in use.
    pub(super) fn new(dir: PathBuf, lost: Arc<AtomicU64>) -> Database {
        Database { dir, open: None, lost }
    }

    /// Runs `work` on the connection, which is opened first if need be. An opening that did not succeed is tried again
    /// by the next call.
    ///
    /// # Errors
    /// Also if the files are others than were opened: what is written into one that has no name any more is lost. The next
    /// call opens what is there then.
    pub(super) fn run<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let open = match self.open.take() {
            Some(open) if open.files.are_in(&self.dir) => open,
            Some(_) => {
                self.lost.fetch_add(1, Ordering::Relaxed);
                tracing::error!("{}", StoreError::Gone);
                return Err(StoreError::Gone);
            }
            None => match self.open() {
                Err(StoreError::NoSpace) => return full::read(&self.dir, work),
                opened => opened?,
            },
        };
        let done = work(&open.connection).map_err(|error| self.explain(error));
        // One that was repaired, or replaced by a copy, is found by opening it again.
        self.open = Some(open).filter(|_| !matches!(done, Err(StoreError::Damaged)));
        done
    }

    /// What an error of the connection means.
    pub(super) fn explain(&self, error: StoreError) -> StoreError {
        file::explain(&self.dir, error)
    }

    /// Opens it again with the next call.
    pub(super) fn close(&mut self) {
        self.open = None;
    }

    fn open(&self) -> Result<Open, StoreError> {
        let database = folder::create_private(&self.dir)
            .and_then(|()| file::prepare(&self.dir))
            .map_err(StoreError::folder(&self.dir))?;
        let explain = |error: rusqlite::Error| file::explain(&self.dir, error.into());
        let mut connection = Connection::open(self.dir.join(FILE)).map_err(explain)?;
        connection.busy_timeout(BUSY_WAIT_MAX).map_err(explain)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        // Before anything is changed: another version's database is left exactly as it is.
        let found = schema::version(&connection).map_err(explain)?;
        if found != 0 && found != schema::VERSION {
            return Err(StoreError::OtherVersion { found, known: schema::VERSION });
        }
        use_write_ahead_log(&connection).map_err(explain)?;
        schema::begin(&mut connection).map_err(explain)?;
        // Not while it is being made: until then an empty file is a beginning. It tells of a loss and protects nothing, so a
        // disk that has no room for it is no reason to serve nothing.
        let _ = Sentinel::Database.make(&self.dir);
        let files = Identity::of(database, &self.dir).map_err(StoreError::folder(&self.dir))?;
        Ok(Open { connection, files })
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

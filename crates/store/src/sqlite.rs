//! The store of one machine: one SQLite file in the state folder, shared by every process of its owner.
#![expect(clippy::disallowed_methods, reason = "the store is a declared home of files")]

mod full;
mod records;
mod sealed;

use std::{
    fs::{self, OpenOptions, Permissions},
    io::{self, ErrorKind},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params};

use records::Replaced;

use crate::{
    ANCHOR_BYTES_MAX, DEFINITIONS_BYTES_MAX, Definitions, FINGERPRINTS_PER_UPSTREAM_MAX, RECORD_BYTES_MAX,
    RECORDS_PER_KIND_MAX, SECRET_BYTES_MAX, SECRET_NAME_BYTES_MAX, Store, StoreError, StoredRecord,
    StoredSecret, folder, marks::Mark, schema,
};

/// The database's name within the state folder.
pub(crate) const FILE: &str = "toolcrib.db";

/// What SQLite puts beside it.
const FILES_BESIDE: [&str; 2] = ["toolcrib.db-wal", "toolcrib.db-shm"];

/// Only the owner may read what their upstreams offer, and with what they are signed in.
const FILE_MODE: u32 = 0o600;

/// How long to wait for other processes. They write rows, not files: seconds mean that one is stuck.
const BUSY_WAIT_MAX: Duration = Duration::from_secs(5);

/// How often to try again where SQLite does not wait by itself.
const BUSY_RETRY: Duration = Duration::from_millis(10);

/// A store in one folder. Nothing touches the disk until something is asked or kept.
#[derive(Debug)]
pub struct SqliteStore {
    dir: PathBuf,
    /// One connection: SQLite has one writer, and our reads are rare.
    connection: Mutex<Option<Connection>>,
}

/// What a file beside the database tells of.
pub(crate) enum Sort {
    /// Records of the kind `key`.
    Keys,
    /// Sealed records.
    Secrets,
}

impl SqliteStore {
    /// The store that lies, or will lie, in this folder.
    pub fn at(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), connection: Mutex::new(None) }
    }

    /// Runs `work` on the connection, which is opened first if need be. An opening that did not succeed is
    /// tried again by the next call.
    fn with<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        // A panic cannot leave the connection half changed: SQLite rolls back what was not committed.
        let mut slot = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = match slot.take() {
            Some(connection) => connection,
            None => match self.open() {
                Err(StoreError::NoSpace { .. }) => return full::read(&self.dir.join(FILE), work),
                opened => opened?,
            },
        };
        work(slot.insert(connection)).map_err(|error| self.explain(error))
    }

    fn explain(&self, error: rusqlite::Error) -> StoreError {
        if full::is_why(&self.dir, &error) { StoreError::NoSpace { file: FILE } } else { explain(error) }
    }

    /// The same for what only looks: in a database that is not there, there is nothing, and looking makes none. Whoever
    /// keeps nothing pays one question to the system for it.
    fn look<T: Default>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let is_open = self.connection.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let path = self.dir.join(FILE);
        if !is_open && matches!(fs::metadata(&path), Err(error) if error.kind() == ErrorKind::NotFound) {
            return Ok(T::default());
        }
        self.with(work)
    }

    fn open(&self) -> Result<Connection, StoreError> {
        let cannot = |source| StoreError::Folder { dir: self.dir.clone(), source };
        folder::create_private(&self.dir).map_err(cannot)?;
        let path = self.dir.join(FILE);
        create_for_owner(&path).map_err(cannot)?;
        for file in [FILE].iter().chain(&FILES_BESIDE) {
            close_to_others(&self.dir.join(file)).map_err(cannot)?;
        }
        let explain = |error| self.explain(error);
        let mut connection = Connection::open(&path).map_err(explain)?;
        connection.busy_timeout(BUSY_WAIT_MAX).map_err(explain)?;
        // Before anything is changed: a newer database is left exactly as it is.
        let found = schema::version(&connection).map_err(explain)?;
        if found > schema::VERSION {
            return Err(StoreError::Newer { file: FILE, found, known: schema::VERSION });
        }
        use_write_ahead_log(&connection).map_err(explain)?;
        schema::migrate(&mut connection).map_err(explain)?;
        // Not while it is being made: until then an empty file is a beginning. It tells of a loss and protects nothing, so a
        // disk that has no room for it is no reason to serve nothing.
        let _ = Mark::Database.make(&self.dir);
        // An earlier release has kept them and made no mark.
        if records::changes(&connection, "key").map_err(explain)? > 0 {
            let _ = Mark::Keys.make(&self.dir);
        }
        Ok(connection)
    }

    /// The folder that it lies in.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether this database has ever kept something of this sort, be it removed by now.
    pub(crate) fn has_kept(&self, sort: Sort) -> Result<bool, StoreError> {
        match sort {
            Sort::Keys => Ok(self.record_changes("key")? > 0),
            Sort::Secrets => self.look(sealed::was_any),
        }
    }
}

/// Creates the file for its owner alone, since SQLite would leave its mode to the umask. A file that exists
/// is not even opened: closing it would drop the locks this process holds on it through SQLite.
fn create_for_owner(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Takes from a file what others may do with it: one that was copied here may have brought it along. SQLite gives new
/// files beside the database the database's mode.
fn close_to_others(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.permissions().mode() & 0o077 != 0 => {
            fs::set_permissions(path, Permissions::from_mode(FILE_MODE))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Readers and the writer do not wait for each other. A crash of the machine may take the last commits, a
/// crash of the process takes none.
fn use_write_ahead_log(connection: &Connection) -> rusqlite::Result<()> {
    let deadline = Instant::now() + BUSY_WAIT_MAX;
    // SQLite does not wait by itself when two processes change the mode at once.
    while let Err(error) = connection.pragma_update(None, "journal_mode", "wal") {
        if !is_busy(&error) || Instant::now() >= deadline {
            return Err(error);
        }
        thread::sleep(BUSY_RETRY);
    }
    connection.pragma_update(None, "synchronous", "normal")
}

/// Does `work` in a transaction that survives a crash of the machine once this returns.
fn durably<T>(
    connection: &Connection,
    work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    connection.pragma_update(None, "synchronous", "full")?;
    let done =
        Transaction::new_unchecked(connection, TransactionBehavior::Immediate).and_then(|transaction| {
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        });
    connection.pragma_update(None, "synchronous", "normal")?;
    done
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn explain(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => StoreError::Damaged { file: FILE },
        _ if is_busy(&error) => StoreError::Busy { file: FILE },
        _ => StoreError::Database(Box::new(error)),
    }
}

fn within(what: &'static str, bytes: usize, max: usize) -> Result<(), StoreError> {
    if bytes <= max { Ok(()) } else { Err(StoreError::TooLarge { what, bytes, max }) }
}

impl Store for SqliteStore {
    fn definitions(&self, upstream: &str, fingerprint: &str) -> Result<Option<Definitions>, StoreError> {
        let found = self.with(|connection| {
            connection
                .query_row(
                    "SELECT tools_json, fetched_at_ms FROM definitions WHERE upstream = ?1 AND fingerprint = ?2",
                    params![upstream, fingerprint],
                    |row| Ok((row.get(0)?, row.get(1)?)),
                )
                .optional()
        })?;
        Ok(found.map(|(tools_json, fetched_at_ms)| Definitions {
            upstream: upstream.to_owned(),
            fingerprint: fingerprint.to_owned(),
            tools_json,
            fetched_at_ms,
        }))
    }

    fn keep_definitions(&self, definitions: &Definitions) -> Result<(), StoreError> {
        within("a list of tools", definitions.tools_json.len(), DEFINITIONS_BYTES_MAX)?;
        let Definitions { upstream, fingerprint, tools_json, fetched_at_ms } = definitions;
        self.with(|connection| {
            let transaction = connection.unchecked_transaction()?;
            transaction.execute(
                "INSERT OR REPLACE INTO definitions (upstream, fingerprint, tools_json, fetched_at_ms) \
                 VALUES (?1, ?2, ?3, ?4)",
                params![upstream, fingerprint, tools_json, fetched_at_ms],
            )?;
            // What was just kept stays even if the clock went back.
            transaction.execute(
                "DELETE FROM definitions WHERE upstream = ?1 AND fingerprint IN ( \
                     SELECT fingerprint FROM definitions WHERE upstream = ?1 AND fingerprint <> ?2 \
                     ORDER BY fetched_at_ms DESC LIMIT -1 OFFSET ?3)",
                params![upstream, fingerprint, FINGERPRINTS_PER_UPSTREAM_MAX as i64 - 1],
            )?;
            transaction.commit()
        })
    }

    fn forget_definitions(&self, upstream: &str) -> Result<(), StoreError> {
        self.with(|connection| {
            connection.execute("DELETE FROM definitions WHERE upstream = ?1", [upstream])
        })?;
        Ok(())
    }

    fn anchor(&self, key: &str) -> Result<Option<String>, StoreError> {
        self.with(|connection| {
            connection
                .query_row("SELECT value FROM anchors WHERE key = ?1", [key], |row| row.get(0))
                .optional()
        })
    }

    fn keep_anchor(&self, key: &str, value: &str) -> Result<(), StoreError> {
        within("an anchor", key.len() + value.len(), ANCHOR_BYTES_MAX)?;
        self.with(|connection| {
            connection.execute("INSERT OR REPLACE INTO anchors (key, value) VALUES (?1, ?2)", [key, value])
        })?;
        Ok(())
    }

    fn secret(&self, name: &str) -> Result<Option<StoredSecret>, StoreError> {
        self.with(|connection| sealed::secret(connection, name))
    }

    fn replace_secret(
        &self,
        name: &str,
        expected: Option<u64>,
        sealed: Option<&[u8]>,
    ) -> Result<Option<u64>, StoreError> {
        within("the name of a secret", name.len(), SECRET_NAME_BYTES_MAX)?;
        within("a secret", sealed.map_or(0, <[u8]>::len), SECRET_BYTES_MAX)?;
        self.with(|connection| sealed::replace(connection, name, expected, sealed))
    }

    fn secret_names(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        self.with(|connection| sealed::names(connection, prefix))
    }

    fn record(&self, kind: &str, key: &str) -> Result<Option<StoredRecord>, StoreError> {
        self.look(|connection| records::record(connection, kind, key))
    }

    fn records(&self, kind: &str) -> Result<Vec<StoredRecord>, StoreError> {
        self.look(|connection| records::records(connection, kind))
    }

    fn record_changes(&self, kind: &str) -> Result<u64, StoreError> {
        self.look(|connection| records::changes(connection, kind))
    }

    fn was_any(&self, kind: &str) -> Result<bool, StoreError> {
        let has_kept = self.record_changes(kind)? > 0;
        let Some(mark) = Mark::of_kind(kind) else { return Ok(has_kept) };
        let cannot = |source| StoreError::Folder { dir: self.dir.clone(), source };
        Ok(has_kept || mark.is_in(&self.dir).map_err(cannot)?)
    }

    fn replace_record(
        &self,
        kind: &str,
        key: &str,
        expected: Option<u64>,
        value: Option<&str>,
    ) -> Result<Option<u64>, StoreError> {
        within("the kind of a record", kind.len(), SECRET_NAME_BYTES_MAX)?;
        within("the key of a record", key.len(), SECRET_NAME_BYTES_MAX)?;
        within("a record", value.map_or(0, str::len), RECORD_BYTES_MAX)?;
        if let Some(mark) = Mark::of_kind(kind) {
            let cannot = |source| StoreError::Folder { dir: self.dir.clone(), source };
            mark.make(&self.dir).map_err(cannot)?;
        }
        match self.with(|connection| records::replace(connection, kind, key, expected, value))? {
            Replaced::By(version) => Ok(Some(version)),
            Replaced::Raced => Ok(None),
            Replaced::Full => Err(StoreError::Full { kind: kind.to_owned(), max: RECORDS_PER_KIND_MAX }),
        }
    }

    fn claim(&self, key: &str, holder: &str, now_ms: i64, until_ms: i64) -> Result<bool, StoreError> {
        within("the key of a claim", key.len(), SECRET_NAME_BYTES_MAX)?;
        within("the holder of a claim", holder.len(), SECRET_NAME_BYTES_MAX)?;
        self.with(|connection| sealed::claim(connection, key, holder, now_ms, until_ms))
    }

    fn release(&self, key: &str, holder: &str) -> Result<(), StoreError> {
        self.with(|connection| sealed::release(connection, key, holder))
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::conformance;

    fn scratch() -> TempDir {
        tempfile::tempdir().unwrap()
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn keeps_what_every_store_must_keep() {
        conformance::check(|| {
            let dir = scratch();
            let first = SqliteStore::at(dir.path());
            let second = SqliteStore::at(dir.path());
            (first, second, dir)
        });
    }

    #[test]
    fn touches_no_disk_before_the_first_use() {
        let dir = scratch();
        let state = dir.path().join("a/b");
        let store = SqliteStore::at(&state);
        assert!(!dir.path().join("a").exists());
        assert_eq!(store.anchor("x").unwrap(), None);
        for folder in [dir.path().join("a"), state.clone()] {
            assert_eq!(mode(&folder), 0o700, "{folder:?}");
        }
        store.keep_anchor("x", "y").unwrap();
        for file in [FILE, "toolcrib.db-wal", "toolcrib.db-shm"] {
            assert_eq!(mode(&state.join(file)), 0o600, "{file}");
        }
    }

    #[test]
    fn looking_at_records_makes_no_database() {
        let dir = scratch();
        let state = dir.path().join("a");
        let store = SqliteStore::at(&state);
        assert_eq!((store.record("k", "a").unwrap(), store.record_changes("k").unwrap()), (None, 0));
        assert!(store.records("k").unwrap().is_empty() && !state.exists());
        SqliteStore::at(&state).replace_record("k", "a", None, Some("1")).unwrap();
        assert_eq!(store.record_changes("k").unwrap(), 1);
    }

    #[test]
    fn a_database_that_others_could_read_is_closed_to_them() {
        let dir = scratch();
        SqliteStore::at(dir.path()).keep_anchor("x", "y").unwrap();
        let path = dir.path().join(FILE);
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let store = SqliteStore::at(dir.path());
        assert_eq!(store.anchor("x").unwrap().as_deref(), Some("y"));
        for file in [FILE].iter().chain(&FILES_BESIDE) {
            assert_eq!(mode(&dir.path().join(file)), 0o600, "{file}");
        }
    }

    #[test]
    fn an_older_database_gets_what_is_new() {
        let dir = scratch();
        let old = Connection::open(dir.path().join(FILE)).unwrap();
        old.execute_batch(schema::FIRST).unwrap();
        old.pragma_update(None, "user_version", 1).unwrap();
        old.execute("INSERT INTO anchors VALUES ('x', 'y')", []).unwrap();
        drop(old);
        let store = SqliteStore::at(dir.path());
        assert_eq!(store.anchor("x").unwrap().as_deref(), Some("y"));
        assert_eq!(store.secret("x").unwrap(), None);
    }

    #[test]
    fn a_database_survives_the_process_that_wrote_it() {
        let dir = scratch();
        SqliteStore::at(dir.path()).keep_anchor("x", "y").unwrap();
        assert_eq!(SqliteStore::at(dir.path()).anchor("x").unwrap().as_deref(), Some("y"));
    }

    #[test]
    fn many_first_uses_at_once_find_one_database() {
        let dir = scratch();
        thread::scope(|scope| {
            for nth in 0..8 {
                let store = SqliteStore::at(dir.path());
                scope.spawn(move || store.keep_anchor(&format!("key {nth}"), "kept").unwrap());
            }
        });
        let store = SqliteStore::at(dir.path());
        for nth in 0..8 {
            assert_eq!(store.anchor(&format!("key {nth}")).unwrap().as_deref(), Some("kept"));
        }
    }

    #[test]
    fn a_newer_database_is_refused_and_left_alone() {
        let dir = scratch();
        let path = dir.path().join(FILE);
        Connection::open(&path).unwrap().pragma_update(None, "user_version", schema::VERSION + 1).unwrap();
        let before = fs::read(&path).unwrap();
        let error = SqliteStore::at(dir.path()).anchor("x").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the state database toolcrib.db has version 4, this program knows 3; \
             use the newer toolcrib, or another state.dir"
        );
        assert_eq!(fs::read(&path).unwrap(), before);
    }

    #[test]
    fn a_damaged_file_is_named_with_the_way_out() {
        let dir = scratch();
        fs::write(dir.path().join(FILE), "planted secret, no database".repeat(100)).unwrap();
        let error = SqliteStore::at(dir.path()).anchor("x").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the state database toolcrib.db is damaged; stop every toolcrib, move the file away and start again: \
             lost with it are the API keys (nobody is let in over HTTP until there are new ones), the kept secrets (which \
             are struck out of nothing until they are set again), the sign-ins to servers, approvals and grants, and what \
             the tools of servers were when they were accepted; if you have a copy of the file, put that back instead"
        );
        fs::remove_file(dir.path().join(FILE)).unwrap();
        SqliteStore::at(dir.path()).keep_anchor("x", "y").unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_is_tried_again() {
        let dir = scratch();
        let blocked = dir.path().join("file");
        fs::write(&blocked, "").unwrap();
        let store = SqliteStore::at(&blocked.join("state"));
        let error = store.anchor("x").unwrap_err().to_string();
        assert!(error.contains("cannot be used; check its permissions or set state.dir"), "{error}");
        fs::remove_file(&blocked).unwrap();
        assert_eq!(store.anchor("x").unwrap(), None);
    }

    #[test]
    fn a_database_locked_by_another_is_busy_not_damaged() {
        let dir = scratch();
        let store = SqliteStore::at(dir.path());
        store.keep_anchor("x", "y").unwrap();
        store.with(|connection| connection.busy_timeout(Duration::ZERO)).unwrap();
        let other = Connection::open(dir.path().join(FILE)).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert!(matches!(store.keep_anchor("x", "z"), Err(StoreError::Busy { file: FILE })));
        assert_eq!(store.anchor("x").unwrap().as_deref(), Some("y"), "readers do not wait");
        other.execute_batch("ROLLBACK").unwrap();
        store.keep_anchor("x", "z").unwrap();
    }
}

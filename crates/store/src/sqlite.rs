//! The store of one machine: one SQLite file in the state folder, shared by every process of its owner.

mod cells;
mod counters;
mod database;
mod definitions;
mod durable;
mod file;
mod full;
mod leases;
mod schema;
mod worker;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use rusqlite::Connection;

use cells::Committed;
use worker::Worker;

use crate::{
    cell::{CELLS_PER_KIND_MAX, Cell, Change, Content, KEY_BYTES_MAX, Kind, Query},
    definitions::{DEFINITIONS_BYTES_MAX, Definitions},
    error::StoreError,
    lost::Lost,
    reply::{Reply, wait},
    sentinel::Sentinel,
    store::{COUNTERS_MAX, CellStore, CounterStore, DefinitionStore, LeaseStore, Period, Taken},
};

/// A store in one folder. Nothing touches the disk until something is asked or kept, and no thread is started.
#[derive(Debug)]
pub struct SqliteStore {
    dir: PathBuf,
    worker: Mutex<Option<Worker>>,
}

impl SqliteStore {
    /// The store that lies, or will lie, in this folder.
    pub fn at(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), worker: Mutex::new(None) }
    }

    /// What was lost, as far as that can be told. Whoever keeps nothing pays a few questions to the system for it.
    /// Blocks on the disk.
    ///
    /// # Errors
    /// It cannot be found out.
    pub fn lost(&self) -> Result<Option<Lost>, StoreError> {
        let was = |sentinel: Sentinel| sentinel.is_in(&self.dir).map_err(|source| self.cannot(source));
        let length = file::length(&self.dir).map_err(|source| self.cannot(source))?;
        let (keys, secrets) = (was(Sentinel::Keys)?, was(Sentinel::Secrets)?);
        if length.is_none_or(|length| length == 0) {
            let database = keys || secrets || was(Sentinel::Database)?;
            return Ok(database.then_some(Lost { database, keys, secrets }));
        }
        let has_kept = |kind| wait(self.changes(kind)).map(|changes| changes > 0);
        let keys = keys && !has_kept(Kind::Key)?;
        let secrets = secrets && !has_kept(Kind::Sealed)?;
        Ok((keys || secrets).then_some(Lost { database: false, keys, secrets }))
    }

    fn cannot(&self, source: io::Error) -> StoreError {
        StoreError::Folder { dir: self.dir.clone(), source }
    }

    /// Runs `work` on the database's thread, which is started first if need be.
    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Reply<'static, T> {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        if worker.is_none() {
            match Worker::start(self.dir.clone()) {
                Ok(started) => *worker = Some(started),
                Err(error) => return fail(error),
            }
        }
        match &*worker {
            Some(worker) => worker.run(move |database| database.run(work)),
            None => fail(StoreError::Busy { file: file::FILE }),
        }
    }

    /// The same for what only reads: in a database that is not there, there is nothing, and reading makes none. Whoever
    /// keeps nothing pays one question to the system for it.
    fn read<T: Default + Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Reply<'static, T> {
        let is_started = self.worker.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if !is_started && matches!(file::length(&self.dir), Ok(None)) {
            return Box::pin(async { Ok(T::default()) });
        }
        self.run(work)
    }
}

fn fail<T: Send + 'static>(error: StoreError) -> Reply<'static, T> {
    Box::pin(async { Err(error) })
}

fn within(what: &'static str, bytes: usize, max: usize) -> Result<(), StoreError> {
    if bytes <= max { Ok(()) } else { Err(StoreError::TooLarge { what, bytes, max }) }
}

/// Refuses what is beyond a limit.
fn check(kind: Kind, key: &str, content: Option<&Content>) -> Result<(), StoreError> {
    within("the key of a record", key.len(), KEY_BYTES_MAX)?;
    let Some(Content { value, owner, topic, state, ends_at_ms: _ }) = content else { return Ok(()) };
    for label in [owner, topic, state] {
        within("the label of a record", label.len(), KEY_BYTES_MAX)?;
    }
    within("a record", value.len(), kind.bytes_max())
}

impl CellStore for SqliteStore {
    fn cell(&self, kind: Kind, key: &str) -> Reply<'_, Option<Cell>> {
        let key = key.to_owned();
        self.read(move |connection| cells::cell(connection, kind, &key))
    }

    fn cells(&self, query: &Query) -> Reply<'_, Vec<Cell>> {
        let query = query.clone();
        self.read(move |connection| cells::cells(connection, &query))
    }

    fn count(&self, query: &Query) -> Reply<'_, u64> {
        let query = query.clone();
        self.read(move |connection| cells::count(connection, &query))
    }

    fn keys(&self, kind: Kind, prefix: &str) -> Reply<'_, Vec<String>> {
        let prefix = prefix.to_owned();
        self.read(move |connection| cells::keys(connection, kind, &prefix))
    }

    fn changes(&self, kind: Kind) -> Reply<'_, u64> {
        self.read(move |connection| cells::changes(connection, kind))
    }

    fn was_any(&self, kind: Kind) -> Reply<'_, bool> {
        Box::pin(async move {
            let has_kept = self.changes(kind).await? > 0;
            let Some(sentinel) = Sentinel::of_kind(kind) else { return Ok(has_kept) };
            Ok(has_kept || sentinel.is_in(&self.dir).map_err(|source| self.cannot(source))?)
        })
    }

    fn commit(&self, changes: Vec<Change>) -> Reply<'_, Option<Vec<u64>>> {
        for Change { kind, key, content, .. } in &changes {
            if let Err(error) = check(*kind, key, content.as_ref()) {
                return fail(error);
            }
        }
        let sentinels: Vec<Sentinel> =
            changes.iter().filter_map(|change| Sentinel::of_kind(change.kind)).collect();
        if let Err(source) = sentinels.iter().try_for_each(|sentinel| sentinel.make(&self.dir)) {
            return fail(self.cannot(source));
        }
        let committed = self.run(move |connection| cells::commit(connection, &changes));
        Box::pin(async move {
            match committed.await? {
                Some(Committed::As(versions)) => Ok(Some(versions)),
                Some(Committed::Full(kind)) => {
                    let kind = kind.as_str().to_owned();
                    Err(StoreError::Full { kind, max: CELLS_PER_KIND_MAX })
                }
                None => Ok(None),
            }
        })
    }

    fn overwrite(&self, kind: Kind, key: &str, value: Vec<u8>) -> Reply<'_, ()> {
        let (key, content) = (key.to_owned(), Content::from(value));
        if let Err(error) = check(kind, &key, Some(&content)) {
            return fail(error);
        }
        self.run(move |connection| {
            let transaction = connection.unchecked_transaction()?;
            cells::put(&transaction, kind, &key, Some(&content))?;
            transaction.commit()
        })
    }

    fn remove_ended(&self, kind: Kind, by_ms: i64) -> Reply<'_, u64> {
        self.read(move |connection| {
            let transaction = connection.unchecked_transaction()?;
            let removed = cells::remove_ended(&transaction, kind, by_ms)?;
            transaction.commit()?;
            Ok(removed)
        })
    }
}

impl LeaseStore for SqliteStore {
    fn acquire(&self, key: &str, holder: &str, now_ms: i64, until_ms: i64) -> Reply<'_, bool> {
        let limits = within("the key of a lease", key.len(), KEY_BYTES_MAX)
            .and_then(|()| within("the holder of a lease", holder.len(), KEY_BYTES_MAX));
        if let Err(error) = limits {
            return fail(error);
        }
        let (key, holder) = (key.to_owned(), holder.to_owned());
        self.run(move |connection| leases::acquire(connection, &key, &holder, now_ms, until_ms))
    }

    fn release(&self, key: &str, holder: &str) -> Reply<'_, ()> {
        let (key, holder) = (key.to_owned(), holder.to_owned());
        self.read(move |connection| leases::release(connection, &key, &holder))
    }
}

impl DefinitionStore for SqliteStore {
    fn definitions(&self, upstream: &str, fingerprint: &str) -> Reply<'_, Option<Definitions>> {
        let (upstream, fingerprint) = (upstream.to_owned(), fingerprint.to_owned());
        self.read(move |connection| definitions::definitions(connection, &upstream, &fingerprint))
    }

    fn keep_definitions(&self, definitions: Definitions) -> Reply<'_, ()> {
        match within("a list of tools", definitions.tools_json.len(), DEFINITIONS_BYTES_MAX) {
            Ok(()) => self.run(move |connection| definitions::keep(connection, &definitions)),
            Err(error) => fail(error),
        }
    }

    fn forget_definitions(&self, upstream: &str) -> Reply<'_, ()> {
        let upstream = upstream.to_owned();
        self.read(move |connection| definitions::forget(connection, &upstream))
    }
}

impl CounterStore for SqliteStore {
    fn take(&self, key: &str, wanted: u32, max: u32, period: Period) -> Reply<'_, Taken> {
        if let Err(error) = within("the key of a counter", key.len(), KEY_BYTES_MAX) {
            return fail(error);
        }
        let key = key.to_owned();
        let taken = self.run(move |connection| counters::take(connection, &key, wanted, max, period));
        let full = || StoreError::Full { kind: "counter".to_owned(), max: COUNTERS_MAX };
        Box::pin(async move { taken.await?.ok_or_else(full) })
    }
}

#[cfg(test)]
mod lost_tests;
#[cfg(test)]
mod tests;

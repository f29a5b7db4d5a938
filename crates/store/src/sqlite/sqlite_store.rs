//! `SqliteStore`: the store of one folder, and how work gets to the thread of its database.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use super::database::changes;
use super::file;
use super::last_write::LastWrite;
use super::worker::Worker;
use crate::cell::Kind;
use crate::error::StoreError;
use crate::lost::Lost;
use crate::reply::{Reply, wait};
use crate::sentinel::Sentinel;

/// A store in one folder. Nothing touches the disk until something is asked or kept, and no thread is started.
#[derive(Debug)]
pub struct SqliteStore {
    pub(super) dir: PathBuf,
    pub(super) worker: Mutex<Option<Worker>>,
    /// How often the database was found to be gone, or another one. Counted by the thread.
    pub(super) losses: Arc<AtomicU64>,
    pub(super) last_write: Arc<LastWrite>,
}

impl SqliteStore {
    /// The store that lies, or will lie, in this folder.
    pub fn at(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            worker: Mutex::new(None),
            losses: Arc::default(),
            last_write: Arc::default(),
        }
    }

    /// What was lost, as far as that can be told. Whoever keeps nothing pays a few questions to the system for it.
    /// Blocks on the disk.
    ///
    /// # Errors
    /// It cannot be found out.
    pub fn lost(&self) -> Result<Option<Lost>, StoreError> {
        let was = |sentinel: Sentinel| sentinel.is_in(&self.dir).map_err(StoreError::folder(&self.dir));
        let length = file::length(&self.dir).map_err(StoreError::folder(&self.dir))?;
        let (keys, secrets) = (was(Sentinel::Keys)?, was(Sentinel::Secrets)?);
        if length.is_none_or(|length| length == 0) {
            let database = keys || secrets || was(Sentinel::Database)?;
            return Ok(database.then_some(Lost { database, keys, secrets }));
        }
        let has_kept = |kind| wait(self.has_kept(kind));
        let keys = keys && !has_kept(Kind::Key)?;
        let secrets = secrets && !has_kept(Kind::Sealed)?;
        Ok((keys || secrets).then_some(Lost { database: false, keys, secrets }))
    }

    /// Whether the database that is there has ever had a cell of this kind.
    pub(super) fn has_kept(&self, kind: Kind) -> Reply<'_, bool> {
        self.read(move |connection| Ok(changes(connection, kind)? > 0))
    }

    /// Runs `work` on the database's thread, which is started first if need be.
    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Reply<'static, T> {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let worker = match &mut *worker {
            Some(worker) => worker,
            none => match Worker::start(self.dir.clone(), self.losses.clone(), self.last_write.clone()) {
                Ok(started) => none.insert(started),
                Err(error) => return Box::pin(async { Err(error) }),
            },
        };
        worker.run(move |database| database.run(work))
    }

    /// The same for what is within limits.
    pub(super) fn run_within<T: Send + 'static>(
        &self,
        limits: Result<(), StoreError>,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Reply<'static, T> {
        match limits {
            Ok(()) => self.run(work),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }

    /// The same for what only reads: in a database that is not there, there is nothing, and reading makes none. Whoever
    /// keeps nothing pays one question to the system for it.
    pub(super) fn read<T: Default + Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Reply<'static, T> {
        let is_started = self.worker.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if !is_started && matches!(file::length(&self.dir), Ok(None)) {
            return Box::pin(async { Ok(T::default()) });
        }
        self.run(work)
    }
}

/// Refuses what is beyond a limit, in bytes.
pub(super) fn within(what: &'static str, bytes: usize, max: usize) -> Result<(), StoreError> {
    if bytes <= max { Ok(()) } else { Err(StoreError::TooLarge { what, bytes, max }) }
}

//! The thread that SQLite runs on, so that nobody who answers requests waits for a disk.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use tokio::sync::oneshot;

use super::database::Database;
use super::last_write::LastWrite;
use crate::error::StoreError;
use crate::reply::Reply;

/// Most pieces of work that wait. Each belongs to a call or a command; more of them mean that the disk has stopped.
const WAITING_MAX: usize = 1024;

type Work = Box<dyn FnOnce(&mut Database) + Send>;

/// The thread. It ends, and the database is closed, when this is dropped.
#[derive(Debug)]
pub(super) struct Worker {
    queue: Option<SyncSender<Work>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// `lost` counts how often the database was found to be gone, or another one.
    pub(super) fn start(
        dir: PathBuf,
        lost: Arc<AtomicU64>,
        last_write: Arc<LastWrite>,
    ) -> Result<Worker, StoreError> {
        let (queue, works) = sync_channel::<Work>(WAITING_MAX);
        let run = move || {
            let mut database = Database::new(dir, lost, last_write);
            works.into_iter().for_each(|work| work(&mut database));
        };
        let thread = Builder::new().name("toolcrib-store".to_owned()).spawn(run);
        let thread = thread.map_err(|error| StoreError::Database(Box::new(error)))?;
        Ok(Worker { queue: Some(queue), thread: Some(thread) })
    }

    /// Does `work` on the thread. It is done even if nobody waits for the answer any more.
    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Database) -> Result<T, StoreError> + Send + 'static,
    ) -> Reply<'static, T> {
        let (answer, answered) = oneshot::channel();
        let work: Work = Box::new(move |database| {
            // Whoever asked may be gone.
            let _ = answer.send(work(database));
        });
        let is_queued = self.queue.as_ref().is_some_and(|queue| queue.try_send(work).is_ok());
        Box::pin(async move {
            if !is_queued {
                return Err(StoreError::Busy);
            }
            answered.await.unwrap_or_else(|error| Err(StoreError::Database(Box::new(error))))
        })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // What was asked for is done before the database is closed.
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // One that has panicked has closed it, too.
            let _ = thread.join();
        }
    }
}

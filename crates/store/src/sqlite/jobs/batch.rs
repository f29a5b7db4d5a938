//! Group commit: what waits while the disk syncs goes into the next transaction together, so that all of it pays one sync.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::oneshot;

use crate::error::StoreError;
use crate::reply::Reply;
use crate::sqlite::database::Database;
use crate::sqlite::file;
use crate::sqlite::last_write::LastWrite;

/// Most pieces of work that wait. More of them mean that the disk has stopped.
const WAITING_MAX: usize = 8 * 1024;

/// Most pieces of work in one transaction: the first of them waits for the last.
const BATCH_MAX: usize = 1_024;

/// What a piece of work wants of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wants {
    /// It only reads.
    Read,
    /// It survives a crash of the process.
    Write,
    /// It survives a crash of the machine.
    Sync,
}

/// A piece of work, whatever comes of it.
trait Work: Send {
    fn wants(&self) -> Wants;

    /// Does it; false if what it wrote is to be undone.
    fn run(&mut self, connection: &Connection) -> bool;

    /// Says what its own error means, if it has one, and whether that is a damage.
    fn is_damaged(&mut self, database: &Database) -> bool;

    /// Answers, once what was written is kept, or is not.
    fn answer(self: Box<Self>, kept: Result<(), StoreError>);
}

struct Piece<T, F> {
    wants: Wants,
    work: Option<F>,
    done: Option<Result<T, StoreError>>,
    answer: oneshot::Sender<Result<T, StoreError>>,
}

impl<T: Send, F: FnOnce(&Connection) -> Result<T, StoreError> + Send> Work for Piece<T, F> {
    fn wants(&self) -> Wants {
        self.wants
    }

    fn run(&mut self, connection: &Connection) -> bool {
        self.done = self.work.take().map(|work| work(connection));
        matches!(self.done, Some(Ok(_)))
    }

    fn is_damaged(&mut self, database: &Database) -> bool {
        self.done = self.done.take().map(|done| done.map_err(|error| database.explain(error)));
        matches!(self.done, Some(Err(StoreError::Damaged)))
    }

    fn answer(self: Box<Self>, kept: Result<(), StoreError>) {
        let answer = match (self.done, kept) {
            (Some(Ok(done)), Ok(())) => Ok(done),
            (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            (None, Ok(())) => Err(StoreError::Database("it was not tried".into())),
        };
        // Whoever asked may be gone.
        let _ = self.answer.send(answer);
    }
}

/// The thread. What was asked for is done before it ends.
#[derive(Debug)]
pub(super) struct Batches {
    queue: Option<SyncSender<Box<dyn Work>>>,
    thread: Option<JoinHandle<()>>,
}

impl Batches {
    /// `lost` counts how often the database was found to be gone, or another one.
    pub(super) fn start(
        dir: PathBuf,
        lost: Arc<AtomicU64>,
        last_write: Arc<LastWrite>,
    ) -> Result<Batches, StoreError> {
        let (queue, waiting) = sync_channel(WAITING_MAX);
        let run = move || serve(Database::new(dir, lost, last_write), &waiting);
        let thread = Builder::new().name("toolcrib-jobs".to_owned()).spawn(run);
        let thread = thread.map_err(|error| StoreError::Database(Box::new(error)))?;
        Ok(Batches { queue: Some(queue), thread: Some(thread) })
    }

    /// Does `work` on the thread, even if nobody waits for the answer any more.
    pub(super) fn run<T: Send + 'static>(
        &self,
        wants: Wants,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Reply<'static, T> {
        let (answer, answered) = oneshot::channel();
        let piece: Box<dyn Work> = Box::new(Piece { wants, work: Some(work), done: None, answer });
        let is_queued = self.queue.as_ref().is_some_and(|queue| queue.try_send(piece).is_ok());
        Box::pin(async move {
            if !is_queued {
                return Err(StoreError::Busy);
            }
            answered.await.unwrap_or_else(|error| Err(StoreError::Database(Box::new(error))))
        })
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // One that has panicked has closed the database, too.
            let _ = thread.join();
        }
    }
}

fn serve(mut database: Database, waiting: &Receiver<Box<dyn Work>>) {
    while let Ok(first) = waiting.recv() {
        let mut batch = vec![first];
        batch.extend(waiting.try_iter().take(BATCH_MAX - 1));
        let wants = batch.iter().map(|work| work.wants()).max().unwrap_or(Wants::Read);
        let kept = database.run(|connection| match wants {
            Wants::Read => {
                for work in &mut batch {
                    work.run(connection);
                }
                Ok(())
            }
            Wants::Write | Wants::Sync => together(connection, wants, &mut batch),
        });
        let mut is_damaged = false;
        for work in &mut batch {
            is_damaged |= work.is_damaged(&database);
        }
        if is_damaged {
            database.close();
        }
        for work in batch {
            work.answer(kept.as_ref().map(|_| ()).map_err(again));
        }
    }
}

/// Does all of it in one transaction; what fails is undone by itself.
fn together(connection: &Connection, wants: Wants, batch: &mut [Box<dyn Work>]) -> Result<(), StoreError> {
    connection.pragma_update(None, "synchronous", if wants == Wants::Sync { "full" } else { "normal" })?;
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    for work in batch {
        let say = |sql| transaction.prepare_cached(sql)?.execute([]);
        say("SAVEPOINT piece")?;
        if !work.run(&transaction) {
            say("ROLLBACK TO piece")?;
        }
        say("RELEASE piece")?;
    }
    Ok(transaction.commit()?)
}

/// The same error for another one who waited for the same transaction.
fn again(error: &StoreError) -> StoreError {
    match error {
        StoreError::NoSpace => StoreError::NoSpace,
        StoreError::Busy => StoreError::Busy,
        StoreError::Damaged => StoreError::Damaged,
        StoreError::Gone => StoreError::Gone,
        StoreError::Folder(met) => StoreError::Folder(met.clone()),
        StoreError::Unwritable(met) => StoreError::Unwritable(met.clone()),
        StoreError::OtherVersion { found, known } => {
            StoreError::OtherVersion { found: *found, known: *known }
        }
        other => StoreError::Database(file::chain(other).into()),
    }
}

//! The thread that writes: takes what waits, strikes secrets out, appends it with one write, and settles the
//! journal.

use std::{io, sync::Arc, thread};

use crate::{
    audit_log::Shared,
    error::AuditError,
    journal::JournalMark,
    prune::Asks,
    queue::{Attempt, Closed, Flush},
};

/// Records for one write. More would hold the lock, and our memory, for longer than others should wait.
const BATCH_RECORDS_MAX: usize = 4_096;

/// The patterns of secrets are matched by automata that want some room.
const STACK_BYTES: usize = 1024 * 1024;

/// Starts the writer. It ends when the queue is stopped.
pub(crate) fn start(shared: Arc<Shared>) -> io::Result<()> {
    thread::Builder::new().name("audit".to_owned()).stack_size(STACK_BYTES).spawn(move || run(&shared))?;
    Ok(())
}

/// What is on its way.
#[derive(Default)]
struct Work {
    left: Vec<Closed>,
    /// Marks of calls whose records are written, but may not survive a power cut yet.
    unsynced: Vec<JournalMark>,
    /// Bytes of arguments that were struck since the last attempt.
    struck_bytes: usize,
    /// A segment was closed, so there may be one to remove.
    has_closed: bool,
}

fn run(shared: &Shared) {
    let alarm = Alarm(shared);
    // What cannot be recovered or removed now stays for the next start, or for who asks by name.
    let _ = shared.recover();
    let _ = shared.prune(Asks::Nobody);
    let mut work = Work::default();
    while let Some(flush) = shared.queue.take(&mut work.left) {
        let before = work.left.len();
        let (is_synced, failure) = match write(shared, &mut work, flush) {
            Ok(is_synced) => (is_synced, None),
            Err(error) => (false, Some(error)),
        };
        let (records, plain_bytes) = (before - work.left.len(), std::mem::take(&mut work.struck_bytes));
        let journal_fails = shared.mend_journal();
        shared.outage.tell(failure.as_ref().or(journal_fails.as_ref()));
        shared.queue.wrote(Attempt { records, plain_bytes, is_synced, failure });
        work.left.shrink_to(BATCH_RECORDS_MAX);
        if std::mem::take(&mut work.has_closed) | shared.config.is_new() {
            // What cannot be removed now is tried again with the next segment.
            let _ = shared.prune(Asks::Nobody);
        }
    }
    std::mem::forget(alarm);
}

/// Writes all, or what the disk takes; the rest stays in the list. With nothing to write it still looks
/// whether the audit log is in its place. True if all would survive a power cut.
fn write(shared: &Shared, work: &mut Work, flush: Flush) -> Result<bool, AuditError> {
    loop {
        write_batch(shared, work)?;
        if work.left.is_empty() {
            break;
        }
    }
    // The notes of these calls may go only when their records survive what the notes would.
    let must_sync = flush == Flush::ToTheDisk || (shared.config.is_durable() && !work.unsynced.is_empty());
    if must_sync {
        shared.sync()?;
    }
    if !work.unsynced.is_empty() {
        shared.journal().close_calls(&work.unsynced, &*shared.pen);
        work.unsynced.clear();
    }
    Ok(must_sync)
}

fn write_batch(shared: &Shared, work: &mut Work) -> Result<(), AuditError> {
    let later = work.left.split_off(work.left.len().min(BATCH_RECORDS_MAX));
    for closed in &mut work.left {
        work.struck_bytes += shared.strike(closed);
    }
    let mut marks: Vec<Option<JournalMark>> = work.left.iter_mut().map(|closed| closed.mark.take()).collect();
    let written = shared.append(&mut work.left);
    // The records that are left are the last ones; so are their marks.
    let marks_left = marks.split_off(marks.len() - work.left.len());
    work.left.iter_mut().zip(marks_left).for_each(|(closed, mark)| closed.mark = mark);
    work.left.extend(later);
    work.unsynced.extend(marks.into_iter().flatten());
    work.has_closed |= written?;
    Ok(())
}

/// Shuts the audit log if the writer panics: calls must not run on without it.
struct Alarm<'a>(&'a Shared);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.outage.tell(Some(&AuditError::Stopped));
        self.0.queue.give_up(AuditError::Stopped);
    }
}

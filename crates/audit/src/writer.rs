//! The thread that writes: takes what waits, strikes secrets out, appends it with one write, and frees the
//! slots of calls that have their records.

use std::sync::Arc;
use std::{io, thread};

use crate::degraded::Part;
use crate::error::AuditError;
use crate::intent_log::IntentId;
use crate::queue::{Attempt, Entry, Flush};
use crate::retention::PruneTrigger;
use crate::shared::Shared;

/// Records that are taken at once. More would hold the lock, and our memory, for longer than others should wait.
const BATCH_RECORDS_MAX: usize = 4_096;

/// Intents that wait for the records of their calls to be synced: 1 MiB of slots. Each sync makes others wait for the disk,
/// so as a rule these wait for the one that comes after a second anyway.
const UNSYNCED_INTENTS_MAX: usize = 256;

/// The patterns of secrets are matched by automata that want some room.
const STACK_BYTES: usize = 1024 * 1024;

/// Starts the writer. It ends when the queue is stopped.
pub(crate) fn start(shared: Arc<Shared>) -> io::Result<()> {
    thread::Builder::new().name("audit".to_owned()).stack_size(STACK_BYTES).spawn(move || run(&shared))?;
    Ok(())
}

/// What is on its way.
#[derive(Default)]
struct Unwritten {
    left: Vec<Entry>,
    /// Intents that survive a power cut, of calls whose records are written, but may not survive one yet.
    unsynced: Vec<IntentId>,
    /// Bytes of arguments that were struck since the last attempt.
    struck_bytes: usize,
    /// A segment was closed, so there may be one to remove.
    has_closed: bool,
}

fn run(shared: &Shared) {
    let stop_on_panic = StopOnPanic(shared);
    // What cannot be recovered or removed now stays for the next start, or for who asks by name.
    let _ = shared.recover();
    let _ = shared.prune(PruneTrigger::Automatic);
    let mut work = Unwritten::default();
    while let Some(flush) = shared.queue.take(&mut work.left) {
        let before = work.left.len();
        let (is_synced, failure) = match write(shared, &mut work, flush) {
            Ok(is_synced) => (is_synced, None),
            Err(error) => (false, Some(error)),
        };
        let (records, plain_bytes) = (before - work.left.len(), std::mem::take(&mut work.struck_bytes));
        shared.degraded.report(Part::Records, failure.as_ref());
        shared.queue.wrote(Attempt { records, plain_bytes, is_synced, failure });
        work.left.shrink_to(BATCH_RECORDS_MAX);
        if std::mem::take(&mut work.has_closed) | shared.settings.take_is_new() {
            // What cannot be removed now is tried again with the next segment.
            let _ = shared.prune(PruneTrigger::Automatic);
        }
    }
    std::mem::forget(stop_on_panic);
}

/// Writes all, or what the disk takes; the rest stays in the list. With nothing to write it still looks
/// whether the audit log is in its place. True if all would survive a power cut.
fn write(shared: &Shared, work: &mut Unwritten, flush: Flush) -> Result<bool, AuditError> {
    loop {
        write_batch(shared, work)?;
        if work.left.is_empty() {
            break;
        }
    }
    let must_sync = flush == Flush::ToTheDisk || work.unsynced.len() >= UNSYNCED_INTENTS_MAX;
    if must_sync {
        shared.sync()?;
        // These go only when their records survive what they would.
        shared.intents.free(std::mem::take(&mut work.unsynced));
    }
    Ok(must_sync)
}

fn write_batch(shared: &Shared, work: &mut Unwritten) -> Result<(), AuditError> {
    let later = work.left.split_off(work.left.len().min(BATCH_RECORDS_MAX));
    for entry in &mut work.left {
        work.struck_bytes += shared.strike(entry);
    }
    let mut intents: Vec<Option<IntentId>> =
        work.left.iter_mut().map(|entry| entry.intent().and_then(Option::take)).collect();
    let written = shared.append(&mut work.left);
    // The records that are left are the last ones; so are their intents.
    let intents_left = intents.split_off(intents.len() - work.left.len());
    for (entry, intent) in work.left.iter_mut().zip(intents_left) {
        if let Some(place) = entry.intent() {
            *place = intent;
        }
    }
    work.left.extend(later);
    let (unsynced, settled) = intents.into_iter().flatten().partition(|intent: &IntentId| intent.is_synced);
    work.unsynced.extend::<Vec<_>>(unsynced);
    shared.intents.free(settled);
    work.has_closed |= written?;
    Ok(())
}

/// Shuts the audit log if the writer panics: calls must not run on without it.
struct StopOnPanic<'a>(&'a Shared);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        self.0.degraded.report(Part::Records, Some(&AuditError::Stopped));
        self.0.queue.stop_with(AuditError::Stopped);
    }
}

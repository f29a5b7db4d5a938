//! The thread that writes: takes what waits, appends it with one write, and settles the journal.

use std::{io, sync::Arc, sync::PoisonError, thread};

use crate::{
    book::Shared,
    error::BookError,
    journal::JournalMark,
    queue::{Closed, Flush},
    record::Record,
};

/// Records for one write. More would hold the lock, and our memory, for longer than others should wait.
const BATCH_RECORDS_MAX: usize = 4_096;

/// It calls nothing deep.
const STACK_BYTES: usize = 256 * 1024;

/// Starts the writer. It ends when the queue is stopped.
pub(crate) fn start(shared: Arc<Shared>) -> io::Result<()> {
    thread::Builder::new().name("audit".to_owned()).stack_size(STACK_BYTES).spawn(move || run(&shared))?;
    Ok(())
}

fn run(shared: &Shared) {
    let alarm = Alarm(shared);
    // What cannot be recovered now stays in its journal for the next start, or for who asks by name.
    let _ = shared.recover();
    let mut left = Vec::new();
    while let Some(flush) = shared.queue.take(&mut left) {
        let before = left.len();
        let failure = write(shared, &mut left, flush).err();
        shared.queue.wrote(before - left.len(), failure);
        left.shrink_to(BATCH_RECORDS_MAX);
    }
    std::mem::forget(alarm);
}

/// Writes all, or what the disk takes; the rest stays in the list. With nothing to write it still looks
/// whether the book is in its place.
fn write(shared: &Shared, left: &mut Vec<Closed>, flush: Flush) -> Result<(), BookError> {
    loop {
        write_batch(shared, left)?;
        if left.is_empty() {
            break;
        }
    }
    match flush {
        Flush::ToTheDisk => shared.with_file(|file| file.sync()),
        Flush::No => Ok(()),
    }
}

fn write_batch(shared: &Shared, left: &mut Vec<Closed>) -> Result<(), BookError> {
    let later = left.split_off(left.len().min(BATCH_RECORDS_MAX));
    let (mut records, mut marks): (Vec<Record>, Vec<Option<JournalMark>>) =
        left.drain(..).map(|closed| (closed.record, closed.mark)).unzip();
    let written = shared.append(&mut records);
    // The records that are left are the last ones; so are their marks.
    let marks_left = marks.split_off(marks.len() - records.len());
    left.extend(records.into_iter().zip(marks_left).map(|(record, mark)| Closed { record, mark }));
    left.extend(later);
    let settled: Vec<JournalMark> = marks.into_iter().flatten().collect();
    if !settled.is_empty() {
        let mut journal = shared.journal.lock().unwrap_or_else(PoisonError::into_inner);
        journal.close_calls(&settled, &*shared.pen);
    }
    written
}

/// Shuts the book if the writer panics: calls must not run on without it.
struct Alarm<'a>(&'a Shared);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.queue.give_up(BookError::Stopped);
    }
}

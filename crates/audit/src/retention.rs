//! Retention: old segments are removed whole, oldest first. What was removed is named, with the head of its
//! chain, in a signed line of the audit log before it goes, so the rest can still be verified.
//!
//! **Age** is not taken from one look at the clock, which may be wrong for a moment, or never have been set. A segment
//! is as old as the latest record in it, and no older than the record that the next one begins with; times before
//! [`CLOCK_SET_MIN_MS`] are none. And what the program removes by itself must have been too old for a day by what the
//! audit log shows: all that was written in that day, up to its end, bears such times.
#![expect(clippy::disallowed_methods, reason = "the audit log is a declared home of files")]

use std::fs::{self, File};
use std::io::{self, BufReader};

use jiff::Timestamp;

use crate::chain;
use crate::checkpoint::{Details, Occasion, Removed};
use crate::config::Config;
use crate::error::AuditError;
use crate::file_ops::FileOps;
use crate::line::Links;
use crate::open_segment::OpenSegment;
use crate::segments::{self, ClosedSegment, FILE};

/// Segments that are removed in one go; more stay for the next time.
pub(crate) const REMOVED_MAX: usize = 10_000;

/// For how long, in milliseconds, the clock must have stood where a segment is too old, if `audit.keep` is not shorter.
const STANDS_MS: i64 = 86_400_000;

/// The beginning of 2023, before this program was, in milliseconds since 1970. A clock that shows an earlier time was
/// never set.
const CLOCK_SET_MIN_MS: i64 = 1_672_531_200_000;

/// Who wants old segments removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PruneTrigger {
    /// The program, by itself.
    Automatic,
    /// Somebody who can look at the clock.
    Person,
}

/// Removes the oldest segment if it is too old or the audit log too large, and says which it was. The newest closed one
/// always stays: its number is what the next one counts from.
pub(crate) fn remove_oldest(
    open: &mut OpenSegment,
    age: &Age<'_>,
    ops: &dyn FileOps,
) -> Result<Option<Removed>, AuditError> {
    open.locked(|open| {
        let closed = segments::closed(&open.dir)?;
        let [oldest, later @ ..] = &closed[..] else { return Ok(None) };
        if later.is_empty() {
            return Ok(None);
        }
        let mut bytes = open.file.metadata()?.len();
        for segment in &closed {
            bytes += fs::metadata(&segment.path)?.len();
        }
        let segment = File::open(&oldest.path)?;
        let end = segments::end_of(&segment)?;
        // One without a record was damaged; it stays for whoever looks into that.
        let Some(last) = end.and_then(|end| end.last) else { return Ok(None) };
        let is_old = age.is_too_old(open, &segment, &last, later)?;
        let max_bytes = age.config.max_bytes.0;
        if !is_old && bytes <= max_bytes {
            return Ok(None);
        }
        let removed =
            Removed { segment: segments::name_of(&oldest.path), seq: last.head.seq, hash: last.head.hash };
        let details = Details { removed: Some(removed.clone()), early: !is_old, ..Details::default() };
        open.write_checkpoint(Occasion::Removed, details)?;
        open.sync()?;
        ops.remove(&oldest.path)?;
        let (segment, until_record) = (&*removed.segment, last.head.seq);
        let written = Timestamp::from_millisecond(last.written_at_ms);
        let written_until = written.map_or_else(|_| String::new(), |time| format!("{time:.0}"));
        if is_old {
            tracing::info!(segment, until_record, written_until, "records older than `audit.keep` were removed");
        } else {
            tracing::error!(
                segment,
                until_record,
                written_until,
                max_bytes,
                "records younger than `audit.keep` were removed, as the audit log had grown beyond `audit.max_bytes`"
            );
        }
        Ok(Some(removed))
    })
}

/// What is too old.
pub(crate) struct Age<'c> {
    pub(crate) config: &'c Config,
    pub(crate) now_ms: i64,
    pub(crate) trigger: PruneTrigger,
}

impl Age<'_> {
    /// Whether the oldest segment has been kept for as long as it is to be. Reads no more of the audit log than it must: as
    /// a rule the segment's last line and the next one's first say that it has not.
    fn is_too_old(
        &self,
        open: &OpenSegment,
        segment: &File,
        last: &Links,
        later: &[ClosedSegment],
    ) -> io::Result<bool> {
        let keep_ms = self.config.keep_ms();
        let is_past = |ended_ms: i64| self.now_ms.saturating_sub(ended_ms) > keep_ms;
        if !is_past(last.written_at_ms) {
            return Ok(false);
        }
        let Some(next_ms) = next_began(open, later)?.filter(|next_ms| is_past(*next_ms)) else {
            return Ok(false);
        };
        let ended_ms =
            times(segment).try_fold(next_ms, |latest, at_ms| io::Result::Ok(latest.max(at_ms?)))?;
        if !is_past(ended_ms) {
            return Ok(false);
        }
        if self.trigger == PruneTrigger::Person {
            return Ok(true);
        }
        let enough_ms = self.now_ms.saturating_sub(STANDS_MS.min(keep_ms));
        let has_stood = is_later_since(open, later, ended_ms.saturating_add(keep_ms), enough_ms)?;
        if !has_stood {
            tracing::info!(
                until_record = last.head.seq,
                "the oldest records are older than `audit.keep` by this clock, which the audit log does not show for \
                 a day yet; they stay until then, or until `toolcrib audit prune`"
            );
        }
        Ok(has_stood)
    }
}

/// The first time that is one, of those with which the segments behind the oldest begin.
fn next_began(open: &OpenSegment, later: &[ClosedSegment]) -> io::Result<Option<i64>> {
    for path in later.iter().map(|segment| segment.path.clone()).chain([open.dir.join(FILE)]) {
        let first = segments::first_of(&File::open(path)?)?;
        if let Some(first) = first.filter(|first| first.written_at_ms >= CLOCK_SET_MIN_MS) {
            return Ok(Some(first.written_at_ms));
        }
    }
    Ok(None)
}

/// When each record of a segment was written.
fn times(segment: &File) -> impl Iterator<Item = io::Result<i64>> {
    chain::lines(BufReader::new(segment))
        .filter_map(|line| line.map(|line| chain::written_at_of(&line)).transpose())
}

/// Whether everything from `enough_ms` or before up to the end of the audit log was written later than `due_ms`.
fn is_later_since(
    open: &OpenSegment,
    later: &[ClosedSegment],
    due_ms: i64,
    enough_ms: i64,
) -> io::Result<bool> {
    let newest = [open.dir.join(FILE)];
    for path in newest.iter().chain(later.iter().rev().map(|segment| &segment.path)) {
        // Of the records behind the last one that is not later, the first.
        let (mut since, mut is_whole) = (None, true);
        for at_ms in times(&File::open(path)?) {
            let at_ms = at_ms?;
            if at_ms <= due_ms {
                (since, is_whole) = (None, false);
            } else {
                since.get_or_insert(at_ms);
            }
        }
        if since.is_some_and(|since| since <= enough_ms) {
            return Ok(true);
        }
        if !is_whole {
            return Ok(false);
        }
    }
    Ok(false)
}

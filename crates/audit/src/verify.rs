//! Reads the whole audit log and tells the first line that is not as it was written.
#![expect(clippy::disallowed_methods, reason = "the audit log is a declared home of files")]

use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use crate::chain::{self, LINE_BYTES_MAX};
use crate::checkpoint::{self, CHECKPOINT_RECORDS, Occasion};
use crate::head::Head;
use crate::key::PublicKey;
use crate::line::{self, Line, Links};
use crate::loss::{Loss, Losses};
use crate::segments::{self, FILE, Source};

/// Segments may be removed as too old while they are read; the reading then begins anew.
const ATTEMPTS_MAX: usize = 8;

/// Records behind the last signature at most. One comes with the write that passes a multiple of
/// [`CHECKPOINT_RECORDS`], which is behind as many as one write takes.
const UNSIGNED_RECORDS_MAX: u64 = 2 * CHECKPOINT_RECORDS;

/// What the audit log is held against.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// The head that was noted beside it, signed with one of the keys ([`crate::noted_head`]): the audit log must contain
    /// it, and up to it is signed.
    pub noted: Option<Head>,
    /// The keys that may have signed it. With none the signatures are not checked.
    pub keys: Vec<PublicKey>,
    /// Whether an audit log that bears no signature at all is found fault with. Nothing else holds a copy to what was
    /// written, since whoever writes an audit log anew can chain it as well.
    pub must_be_signed: bool,
    /// A loss that nobody acknowledged, as it is noted beside the audit log ([`crate::noted_loss`]). The line that tells of it may
    /// have been removed as too old since.
    pub loss: Option<Loss>,
    /// The record that it begins with, as somebody knows who keeps what came before elsewhere or needs it no more. With
    /// none it must begin with the first record, or with the one behind those that a checkpoint says were removed.
    pub from: Option<u64>,
}

/// An audit log in which nothing was found wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// Records in the audit log, checkpoints included.
    pub records: u64,
    /// The number of its first record: not 1 if older ones were removed, or are known to be elsewhere.
    pub first: u64,
    /// Its files.
    pub segments: usize,
    /// Lines that a crash cut short. They hold no record and break no chain.
    pub torn_lines: u64,
    /// The last record.
    pub head: Head,
    /// The number of the last record that a checked signature vouches for: that of a checkpoint, or of the head that
    /// was noted. Behind it only the chain was checked.
    pub signed: Option<u64>,
    /// What the audit log says was lost of it, all acknowledged; the first 100.
    pub losses: Vec<Loss>,
}

/// Why an audit log is not to be trusted, or not to be read.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// A file could not be read.
    #[error("the audit log cannot be read")]
    Unreadable(#[from] io::Error),
    /// The first record that is not as it was written.
    #[error("line {line} of {segment}, record {seq}: {why}")]
    Broken {
        /// The file's name.
        segment: String,
        /// Counted from 1. One past the last if the end is missing.
        line: u64,
        /// The number of the record that should stand there.
        seq: u64,
        /// What is wrong with it.
        why: Why,
    },
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// Its bytes do not match its hash.
    #[error("it was changed: its hash does not match")]
    Changed,
    /// Its number does not follow the record before.
    #[error("it holds record {0}: lines were removed, added or moved")]
    OutOfOrder(u64),
    /// It names another predecessor than the record before it.
    #[error("it does not follow from the record before it: that one was replaced")]
    Unlinked,
    /// It is not whole, and the record it held is missing.
    #[error("it is not whole, and the record is missing after it")]
    Mutilated,
    /// No line of ours is so long.
    #[error("it is longer than any record")]
    TooLong,
    /// It is a checkpoint that no known key has signed.
    #[error("it is signed by none of the known keys; name each one that you trust with --key")]
    Unsigned,
    /// More records than there ever are without a signature, or all of an audit log that must bear one.
    #[error(
        "this one and all after it are signed by nobody ({0} in all): they are chained, which whoever writes an \
         audit log anew can do as well"
    )]
    SignedByNobody(u64),
    /// A closed segment ends with another line than the signed one it was closed with.
    #[error("the segment was closed with a signed line behind this one, which is missing")]
    Unsealed,
    /// the audit log begins later than with its first record, and no checkpoint says why.
    #[error("records from this one on are missing, and no checkpoint says that they were removed as too old")]
    BeginningMissing,
    /// A single segment begins later than with the first record, and no checkpoint in it says why.
    #[error(
        "it starts here: what was before it is not here, and no checkpoint says that it was removed as too old; \
         `--from {0}` says that you know where it is"
    )]
    StartsLater(u64),
    /// It begins with another record than the one that it was said to.
    #[error("it starts here, and not with record {0}")]
    StartsElsewhere(u64),
    /// A closed segment without a record. Each has a signed line at least.
    #[error("the segment holds no record: it was emptied, or the disk was full when it was copied")]
    Emptied,
    /// The record is not the one whose hash was kept.
    #[error("it is another record than the one that was kept: the audit log was written anew")]
    NotAsKept,
    /// It says that the audit log had lost its end, or part of it, and nobody acknowledged it.
    #[error("{0}; `toolcrib audit acknowledge` signs that you know")]
    Lost(Loss),
    /// the audit log ends before the record whose hash was kept.
    #[error("the end of the audit log is missing: record {0} was kept")]
    EndMissing(u64),
}

/// Verifies the chain and its signatures, that it begins where it may, and that it contains the head that was noted.
/// `path` is the audit log's folder, or one segment. Reads what the audit log holds at this moment, in bounded memory; others may go on
/// writing. An audit log that does not exist has no records.
pub fn verify(path: &Path, trust: &Trust) -> Result<Verified, VerifyError> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        match verify_once(path, trust) {
            Err(VerifyError::Unreadable(error))
                if error.kind() == ErrorKind::NotFound && attempts < ATTEMPTS_MAX => {}
            done => return done,
        }
    }
}

fn verify_once(path: &Path, trust: &Trust) -> Result<Verified, VerifyError> {
    let (segment, is_single) = (FILE.to_owned(), !path.is_dir());
    let (first_segment, trust) = (segment.clone(), trust.clone());
    let mut check = Verification { trust, first_segment, segment, is_single, ..Verification::default() };
    for part in segments::parts(path)? {
        let is_closed = segments::number_of(&part.name).is_some();
        check.segment(part.name);
        match part.file {
            Source::Closed(path) => {
                let file = segments::open(&path)?;
                check.lines(BufReader::new(file))?;
            }
            Source::Open(file) => {
                // With the lock nobody is half way through a line. Without it one may be, and counts as torn.
                let locked = file.try_lock_shared().is_ok();
                let len = file.metadata()?.len();
                if locked {
                    file.unlock()?;
                }
                check.lines(BufReader::new(file).take(len))?;
            }
        }
        if is_closed {
            check.is_closed_well()?;
        }
    }
    check.finish()
}

/// Where a fault is.
struct Place {
    segment: String,
    line: u64,
    /// The number of the record that should stand there.
    seq: u64,
}

/// How far the reading has come.
#[derive(Default)]
struct Verification {
    trust: Trust,
    first_segment: String,
    segment: String,
    line: u64,
    /// What was found so far; records, the first one and the losses only at the end.
    found: Verified,
    /// Whether a record was read in this segment.
    has_record: bool,
    /// Where the audit log begins: the head before its first record.
    start: Option<Head>,
    /// Whether one segment is looked at, and not a folder with all of them.
    is_single: bool,
    /// Whether a checkpoint says that what came before the beginning was removed.
    is_start_told: bool,
    /// Up to where checkpoints say that records were removed, before the beginning.
    removed: u64,
    /// The first record behind the last signature, and where it is.
    unsigned_at: Option<Place>,
    losses: Losses,
    /// Where the first loss that nobody acknowledged is told of.
    lost_at: Option<Place>,
    /// The first torn line since the last whole one.
    torn_at: Option<Place>,
}

impl Verification {
    fn segment(&mut self, name: String) {
        if self.found.segments == 0 {
            self.first_segment.clone_from(&name);
        }
        (self.segment, self.line, self.has_record) = (name, 0, false);
        self.found.segments += 1;
    }

    fn lines(&mut self, mut reader: impl BufRead) -> Result<(), VerifyError> {
        let (mut bytes, mut goes_on) = (Vec::new(), false);
        while (&mut reader).take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut bytes)? > 0 {
            let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
            let begins = !std::mem::replace(&mut goes_on, line.len() == LINE_BYTES_MAX);
            self.line += u64::from(begins);
            // Zeros behind a line are what a power cut leaves, and there may be any number of them.
            let is_too_long = match begins {
                true => goes_on && line.last() != Some(&0),
                false => !chain::without_zeros(line).is_empty(),
            };
            if is_too_long {
                return self.place().broken(Why::TooLong);
            }
            if begins {
                self.line(line)?;
            }
            bytes.clear();
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8]) -> Result<(), VerifyError> {
        match line::read(line) {
            Line::Whole(links) => self.whole(line, links),
            Line::Changed => self.place().broken(Why::Changed),
            Line::Torn => {
                self.found.torn_lines += 1;
                self.torn_at.get_or_insert(self.place());
                Ok(())
            }
        }
    }

    fn whole(&mut self, line: &[u8], links: Links) -> Result<(), VerifyError> {
        let Links { prev, head, checkpoint, .. } = links;
        if self.start.is_none() {
            let begins_later = head.seq > 1 && self.torn_at.is_none();
            let start = if begins_later { Head { seq: head.seq - 1, hash: prev } } else { Head::START };
            self.start = Some(start);
            self.found.head = start;
        }
        let expected = self.found.head.seq + 1;
        match self.torn_at.take() {
            Some(torn) if head.seq != expected => return torn.broken(Why::Mutilated),
            _ if head.seq != expected => return self.place().broken(Why::OutOfOrder(head.seq)),
            _ if prev != self.found.head.hash => return self.place().broken(Why::Unlinked),
            _ => {}
        }
        if self.unsigned_at.is_none() {
            self.unsigned_at = Some(self.place());
        }
        if self.trust.noted == Some(head) {
            self.is_signed_up_to(head);
        }
        if let Some(checkpoint) = checkpoint {
            if !self.trust.keys.is_empty() {
                if !self.trust.keys.contains(&checkpoint.key) || !checkpoint::is_signed(line, &checkpoint) {
                    return self.place().broken(Why::Unsigned);
                }
                self.is_signed_up_to(head);
            }
            self.losses.read(head, &checkpoint);
            match self.losses.open {
                Some(_) if self.lost_at.is_none() => self.lost_at = Some(self.place()),
                Some(_) => {}
                None => self.lost_at = None,
            }
            let removed = checkpoint.details.removed.filter(|_| checkpoint.why == Occasion::Removed);
            if let (Some(removed), Some(start)) = (removed, self.start) {
                self.is_start_told |= removed.head() == start;
                self.removed = self.removed.max(if removed.seq < start.seq { removed.seq } else { 0 });
            }
        }
        if self.trust.noted.is_some_and(|noted| noted.seq == head.seq && noted.hash != head.hash) {
            return self.place().broken(Why::NotAsKept);
        }
        self.found.head = head;
        self.has_record = true;
        Ok(())
    }

    fn is_signed_up_to(&mut self, head: Head) {
        (self.found.signed, self.unsigned_at) = (Some(head.seq), None);
    }

    /// Whether the closed segment that was read last ends as segments are closed.
    fn is_closed_well(&self) -> Result<(), VerifyError> {
        let place = self.place();
        if !self.has_record {
            return Place { line: self.line.max(1), ..place }.broken(Why::Emptied);
        }
        if self.trust.keys.is_empty() || self.unsigned_at.is_none() {
            return Ok(());
        }
        Place { seq: self.found.head.seq, ..place }.broken(Why::Unsealed)
    }

    /// Whether so much is signed as there must be.
    fn is_signed_enough(&mut self) -> Result<(), VerifyError> {
        let records =
            self.found.head.seq - self.found.signed.or(self.start.map(|start| start.seq)).unwrap_or(0);
        let is_too_much = if self.found.signed.is_none() && self.trust.must_be_signed {
            records > 0
        } else {
            records > UNSIGNED_RECORDS_MAX && !self.trust.keys.is_empty()
        };
        match self.unsigned_at.take().filter(|_| is_too_much) {
            Some(place) => place.broken(Why::SignedByNobody(records)),
            None => Ok(()),
        }
    }

    /// Whether it begins where it may.
    fn begins_well(&self, start: Head) -> Result<(), VerifyError> {
        let first = start.seq + 1;
        let (seq, why) = match self.trust.from {
            Some(from) if from == first => return Ok(()),
            Some(from) => (first, Why::StartsElsewhere(from)),
            None if start == Head::START || self.is_start_told => return Ok(()),
            None if self.is_single => (first, Why::StartsLater(first)),
            None => (self.removed + 1, Why::BeginningMissing),
        };
        Place { segment: self.first_segment.clone(), line: 1, seq }.broken(why)
    }

    fn finish(mut self) -> Result<Verified, VerifyError> {
        let start = self.start.unwrap_or(Head::START);
        self.begins_well(start)?;
        let kept = self.trust.noted.map(|noted| noted.seq);
        if let Some(kept) = kept.filter(|kept| *kept > self.found.head.seq) {
            let end = Place { line: self.line + 1, ..self.place() };
            return match self.torn_at {
                Some(torn) => torn.broken(Why::Mutilated),
                None => end.broken(Why::EndMissing(kept)),
            };
        }
        if let (Some(loss), Some(place)) = (self.losses.open.clone(), self.lost_at.take()) {
            return place.broken(Why::Lost(loss));
        }
        let noted = self.trust.loss.clone();
        if let Some(loss) = noted.filter(|loss| !self.losses.are_acknowledged_after(loss.seq)) {
            return Place { segment: self.first_segment, line: 1, seq: loss.seq }.broken(Why::Lost(loss));
        }
        self.is_signed_enough()?;
        let (records, losses) = (self.found.head.seq - start.seq, self.losses.all);
        Ok(Verified { records, first: start.seq + 1, losses, ..self.found })
    }

    /// Where the reading is, and the record that should stand there.
    fn place(&self) -> Place {
        Place { segment: self.segment.clone(), line: self.line, seq: self.found.head.seq + 1 }
    }
}

impl Place {
    fn broken<T>(self, why: Why) -> Result<T, VerifyError> {
        let Place { segment, line, seq } = self;
        Err(VerifyError::Broken { segment, line, seq, why })
    }
}

#[cfg(test)]
mod tests;

//! Reads the whole book and tells the first line that is not as it was written.

use std::{
    io::{self, BufRead, BufReader, ErrorKind, Read},
    path::Path,
};

use crate::{
    book::FILE,
    checkpoint::{self, Occasion},
    key::PublicKey,
    line::{self, Head, LINE_BYTES_MAX, Line, Links},
    loss::{Loss, Losses},
    segments::{self, Source},
};

/// Segments may be removed as too old while they are read; the reading then begins anew.
const ATTEMPTS_MAX: usize = 8;

/// What the book is held against.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// Heads that were kept elsewhere ([`crate::anchored`], [`crate::noted_head`]): the book must contain them.
    pub heads: Vec<Head>,
    /// The keys that may have signed it. With none the signatures are not checked.
    pub keys: Vec<PublicKey>,
    /// A loss that nobody acknowledged as far as the store knows ([`crate::marked_loss`]). The line that tells of it may
    /// have been removed as too old since.
    pub loss: Option<Loss>,
}

/// A book in which nothing was found wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Records in the book, checkpoints included.
    pub records: u64,
    /// The number of its first record: not 1 if older ones were removed, or for a single segment.
    pub first: u64,
    /// Its files.
    pub segments: usize,
    /// Lines that a crash cut short. They hold no record and break no chain.
    pub torn_lines: u64,
    /// The last record.
    pub head: Head,
    /// The number of the last checkpoint whose signature was checked; everything up to it is vouched for.
    pub signed: Option<u64>,
    /// What the book says was lost of it, all acknowledged; the first 100.
    pub losses: Vec<Loss>,
}

/// Why a book is not to be trusted, or not to be read.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// A file could not be read.
    #[error("the audit book cannot be read")]
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
    #[error("it holds record {found}: lines were removed, added or moved")]
    OutOfOrder {
        /// The number that is there.
        found: u64,
    },
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
    #[error("it is signed by none of the known keys; name another one with --key if you trust it")]
    Unsigned,
    /// The book begins later than with its first record, and no checkpoint says why.
    #[error("records from this one on are missing, and no checkpoint says that they were removed as too old")]
    BeginningMissing,
    /// The record is not the one whose hash was kept.
    #[error("it is another record than the one that was kept: the book was written anew")]
    NotAsKept,
    /// It says that the book had lost its end, or part of it, and nobody acknowledged it.
    #[error("{0}; `toolcrib audit acknowledge` signs that you know")]
    Lost(Loss),
    /// The book ends before the record whose hash was kept.
    #[error("the end of the book is missing: record {kept} was kept")]
    EndMissing {
        /// The number of the record that was kept.
        kept: u64,
    },
}

/// Verifies the chain and its signatures, and that it contains the heads that were kept. `path` is the book's
/// folder, or one segment. Reads what the book holds at this moment, in bounded memory; others may go on
/// writing. A book that does not exist has no records.
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
    let mut check = Check::new(trust);
    // A single segment may begin anywhere.
    check.may_begin_later = !path.is_dir();
    for part in segments::parts(path)? {
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
    }
    check.finish()
}

/// How far the reading has come.
struct Check<'t> {
    trust: &'t Trust,
    first_segment: String,
    segment: String,
    segments: usize,
    line: u64,
    /// Where the book begins: the head before its first record.
    start: Option<Head>,
    may_begin_later: bool,
    /// Whether a checkpoint says that what came before the beginning was removed.
    is_start_told: bool,
    /// Up to where checkpoints say that records were removed, before the beginning.
    removed: u64,
    head: Head,
    signed: Option<u64>,
    torn_lines: u64,
    losses: Losses,
    /// Where the first loss that nobody acknowledged is told of.
    lost_at: Option<(String, u64)>,
    /// The first torn line since the last whole one.
    torn_at: Option<(String, u64)>,
}

impl<'t> Check<'t> {
    fn new(trust: &'t Trust) -> Self {
        Self {
            trust,
            first_segment: FILE.to_owned(),
            segment: FILE.to_owned(),
            segments: 0,
            line: 0,
            start: None,
            may_begin_later: false,
            is_start_told: false,
            removed: 0,
            head: Head::START,
            signed: None,
            torn_lines: 0,
            losses: Losses::default(),
            lost_at: None,
            torn_at: None,
        }
    }

    fn segment(&mut self, name: String) {
        if self.segments == 0 {
            self.first_segment.clone_from(&name);
        }
        (self.segment, self.line) = (name, 0);
        self.segments += 1;
    }

    fn lines(&mut self, mut reader: impl BufRead) -> Result<(), VerifyError> {
        let mut line = Vec::new();
        loop {
            line.clear();
            if (&mut reader).take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            self.line += 1;
            if line.len() < LINE_BYTES_MAX || line.ends_with(b"\n") {
                self.line(line.strip_suffix(b"\n").unwrap_or(&line))?;
                continue;
            }
            if line.last() != Some(&0) {
                return self.broken(Why::TooLong);
            }
            // Zeros behind a line are what a power cut leaves, and there may be any number of them.
            self.line(&line)?;
            self.zeros(&mut reader)?;
        }
    }

    /// Reads to the end of a line that holds nothing but zeros any more.
    fn zeros(&self, reader: &mut impl BufRead) -> Result<(), VerifyError> {
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let read = reader.take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut bytes)?;
            let zeros = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
            if !line::without_zeros(zeros).is_empty() {
                return self.broken(Why::TooLong);
            }
            if read == 0 || zeros.len() < bytes.len() {
                return Ok(());
            }
        }
    }

    fn line(&mut self, line: &[u8]) -> Result<(), VerifyError> {
        match line::read(line) {
            Line::Whole(links) => self.whole(line, links),
            Line::Changed => self.broken(Why::Changed),
            Line::Torn => {
                self.torn_lines += 1;
                self.torn_at.get_or_insert((self.segment.clone(), self.line));
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
            self.head = start;
        }
        let expected = self.head.seq + 1;
        match self.torn_at.take() {
            Some((segment, line)) if head.seq != expected => {
                return Err(VerifyError::Broken { segment, line, seq: expected, why: Why::Mutilated });
            }
            _ if head.seq != expected => return self.broken(Why::OutOfOrder { found: head.seq }),
            _ if prev != self.head.hash => return self.broken(Why::Unlinked),
            _ => {}
        }
        if let Some(checkpoint) = checkpoint {
            if !self.trust.keys.is_empty() {
                if !self.trust.keys.contains(&checkpoint.key) || !checkpoint::is_signed(line, &checkpoint) {
                    return self.broken(Why::Unsigned);
                }
                self.signed = Some(head.seq);
            }
            self.losses.read(head, &checkpoint);
            match self.losses.open() {
                Some(_) => drop(self.lost_at.get_or_insert((self.segment.clone(), self.line))),
                None => self.lost_at = None,
            }
            let removed = checkpoint.said.removed.filter(|_| checkpoint.why == Occasion::Removed);
            if let (Some(removed), Some(start)) = (removed, self.start) {
                self.is_start_told |= removed.head() == start;
                self.removed = self.removed.max(if removed.seq < start.seq { removed.seq } else { 0 });
            }
        }
        let is_kept = |kept: &Head| kept.seq == head.seq && kept.hash != head.hash;
        if self.trust.heads.iter().any(is_kept) {
            return self.broken(Why::NotAsKept);
        }
        self.head = head;
        Ok(())
    }

    fn finish(mut self) -> Result<Verified, VerifyError> {
        let start = self.start.unwrap_or(Head::START);
        if start != Head::START && !self.is_start_told && !self.may_begin_later {
            let (segment, why) = (self.first_segment, Why::BeginningMissing);
            return Err(VerifyError::Broken { segment, line: 1, seq: self.removed + 1, why });
        }
        let kept = self.trust.heads.iter().map(|kept| kept.seq).max();
        if let Some(kept) = kept.filter(|kept| *kept > self.head.seq) {
            if let Some((segment, line)) = self.torn_at {
                let (seq, why) = (self.head.seq + 1, Why::Mutilated);
                return Err(VerifyError::Broken { segment, line, seq, why });
            }
            self.line += 1;
            return self.broken(Why::EndMissing { kept });
        }
        if let Some(loss) = self.losses.open().cloned() {
            let (segment, line) = self.lost_at.expect("whatever is open was read on a line");
            return Err(VerifyError::Broken { segment, line, seq: loss.seq, why: Why::Lost(loss) });
        }
        if let Some(loss) =
            self.trust.loss.clone().filter(|loss| !self.losses.are_acknowledged_after(loss.seq))
        {
            let (segment, seq) = (self.first_segment, loss.seq);
            return Err(VerifyError::Broken { segment, line: 1, seq, why: Why::Lost(loss) });
        }
        Ok(Verified {
            records: self.head.seq - start.seq,
            first: start.seq + 1,
            segments: self.segments,
            torn_lines: self.torn_lines,
            head: self.head,
            signed: self.signed,
            losses: self.losses.into_all(),
        })
    }

    fn broken<T>(&self, why: Why) -> Result<T, VerifyError> {
        let (segment, seq) = (self.segment.clone(), self.head.seq + 1);
        Err(VerifyError::Broken { segment, line: self.line, seq, why })
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "these tests damage what the book wrote")]
mod tests {
    use std::fs;

    use super::*;
    use crate::hash::Hash;
    use crate::record::tests::sample;

    /// A book of five records, as lines.
    fn book() -> Vec<Vec<u8>> {
        let mut head = Head::START;
        let line = |nth: u8| {
            let mut line = Vec::new();
            head = line::write(&mut line, head, i64::from(nth), &sample(&format!("c{nth}")));
            line
        };
        (1..=5).map(line).collect()
    }

    fn verify_bytes(bytes: &[u8]) -> Result<Verified, VerifyError> {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(FILE), bytes).unwrap();
        verify(dir.path(), &Trust::default())
    }

    #[track_caller]
    fn check_broken(lines: &[Vec<u8>], expected: &str) {
        assert_eq!(
            verify_bytes(&lines.concat()).map_err(|error| error.to_string()),
            Err(expected.to_owned())
        );
    }

    #[test]
    fn a_book_as_written_is_verified() {
        let lines = book();
        let verified = verify_bytes(&lines.concat()).unwrap();
        assert_eq!((verified.records, verified.torn_lines, verified.head.seq), (5, 0, 5));
        let nothing = Verified {
            records: 0,
            first: 1,
            segments: 0,
            torn_lines: 0,
            head: Head::START,
            signed: None,
            losses: vec![],
        };
        assert_eq!(verify_bytes(b"").unwrap(), Verified { segments: 1, ..nothing.clone() });
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(verify(&dir.path().join("no book"), &Trust::default()).unwrap(), nothing);
        assert!(matches!(
            verify(Path::new("/proc/self/mem/x"), &Trust::default()),
            Err(VerifyError::Unreadable(_))
        ));
    }

    #[test]
    fn every_changed_byte_is_found_and_its_line_named() {
        let lines = book();
        for at in 0..lines[2].len() {
            let mut changed = lines.clone();
            changed[2][at] ^= 1;
            match verify_bytes(&changed.concat()) {
                Err(VerifyError::Broken { line: 3, .. }) => {}
                other => panic!("byte {at}: {other:?}"),
            }
        }
    }

    #[test]
    fn lines_removed_moved_or_added_are_found() {
        let lines = book();
        let picked = |order: &[usize]| order.iter().map(|nth| lines[nth - 1].clone()).collect::<Vec<_>>();
        let order = "lines were removed, added or moved";
        for (order_of_lines, expected) in [
            (
                &[1, 2, 4, 5][..],
                format!("line 3 of audit.jsonl, record 3: it holds record 4: {order}"),
            ),
            (
                &[2, 3, 4, 5],
                "line 1 of audit.jsonl, record 1: records from this one on are missing, and no checkpoint says \
                 that they were removed as too old"
                    .to_owned(),
            ),
            (
                &[1, 3, 2, 4, 5],
                format!("line 2 of audit.jsonl, record 2: it holds record 3: {order}"),
            ),
            (
                &[1, 2, 2, 3, 4],
                format!("line 3 of audit.jsonl, record 3: it holds record 2: {order}"),
            ),
        ] {
            check_broken(&picked(order_of_lines), &expected);
        }
    }

    #[test]
    fn a_line_forged_with_a_hash_of_its_own_is_found() {
        let mut lines = book();
        let mut forged = Vec::new();
        line::write(&mut forged, Head { seq: 2, hash: Hash::of(b"guess") }, 3, &sample("forged"));
        lines[2] = forged;
        check_broken(
            &lines,
            "line 3 of audit.jsonl, record 3: it does not follow from the record before it: that one was replaced",
        );
    }

    #[test]
    fn a_mutilated_line_is_no_crash() {
        let mut lines = book();
        lines[2] = [&lines[2][..50], b"\n"].concat();
        check_broken(
            &lines,
            "line 3 of audit.jsonl, record 3: it is not whole, and the record is missing after it",
        );
        // A crash left the same bytes, but the record came again.
        let mut lines = book();
        lines.insert(2, [&lines[2][..50], b"\n"].concat());
        let verified = verify_bytes(&lines.concat()).unwrap();
        assert_eq!((verified.records, verified.torn_lines), (5, 1));
    }

    #[test]
    fn zeros_of_a_power_cut_are_a_torn_line_however_many() {
        let lines = book();
        for zeros in [1, 1_000, LINE_BYTES_MAX - 1, LINE_BYTES_MAX, 3 * LINE_BYTES_MAX + 7] {
            let verified = verify_bytes(&[lines.concat(), vec![0; zeros]].concat()).unwrap();
            assert_eq!((verified.records, verified.torn_lines), (5, 1), "{zeros}");
            let ended = [&lines[..2].concat()[..], &vec![0; zeros], b"\n", &lines[2..].concat()].concat();
            let verified = verify_bytes(&ended).unwrap();
            assert_eq!((verified.records, verified.torn_lines), (5, 1), "{zeros}");
        }
        let mut hidden = vec![0; 2 * LINE_BYTES_MAX];
        hidden.extend(b"hidden");
        assert!(verify_bytes(&[lines.concat(), hidden].concat()).is_err());
    }

    #[test]
    fn an_endless_line_takes_no_memory() {
        let mut lines = book();
        lines.push(vec![b'x'; 4 * LINE_BYTES_MAX]);
        check_broken(&lines, "line 6 of audit.jsonl, record 6: it is longer than any record");
    }
}

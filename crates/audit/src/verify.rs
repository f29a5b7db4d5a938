//! Reads the whole book and tells the first line that is not as it was written.
#![expect(clippy::disallowed_methods, reason = "the audit book is a declared home of files")]

use std::{
    fs::File,
    io::{self, BufRead, BufReader, ErrorKind, Read},
    path::Path,
};

use crate::{
    hash::Hash,
    line::{self, Head, LINE_BYTES_MAX, Line},
};

/// A book in which nothing was found wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// Records in the book.
    pub records: u64,
    /// Lines that a crash cut short. They hold no record and break no chain.
    pub torn_lines: u64,
    /// The last record.
    pub head: Head,
}

/// Why a book is not to be trusted, or not to be read.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The file could not be read.
    #[error("the audit book cannot be read")]
    Unreadable(#[from] io::Error),
    /// The first line that is not as it was written.
    #[error("line {line} of the audit book: {why}")]
    Broken {
        /// Counted from 1. One past the last if the end is missing.
        line: u64,
        /// What is wrong with it.
        why: Why,
    },
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// Its bytes do not match its hash.
    #[error("it was changed: its hash does not match")]
    Changed,
    /// Its number does not follow the record before.
    #[error("it holds record {found} where {expected} should be: lines were removed, added or moved")]
    OutOfOrder {
        /// The number that should be here.
        expected: u64,
        /// The number that is.
        found: u64,
    },
    /// It names another predecessor than the record before it.
    #[error("it does not follow from the record before it: that one was replaced")]
    Unlinked,
    /// It is not whole, and the record it held is missing.
    #[error("it is not whole, and record {missing} is missing after it")]
    Mutilated {
        /// The missing record's number.
        missing: u64,
    },
    /// No line of ours is so long.
    #[error("it is longer than any record")]
    TooLong,
    /// The record is not the one whose hash was kept.
    #[error("it holds another record {seq} than the one that was kept: the book was written anew")]
    NotAsKept {
        /// The record's number.
        seq: u64,
    },
    /// The book ends before the record whose hash was kept.
    #[error("the end of the book is missing: {found} records are left of at least {kept}")]
    EndMissing {
        /// Records in the book.
        found: u64,
        /// Records when the head was kept.
        kept: u64,
    },
}

/// Verifies the chain, and that it contains the head that was kept ([`crate::anchored`]), if there is one.
/// Reads what the book holds at this moment, in bounded memory; others may go on writing. A book that does
/// not exist has no records.
pub fn verify(path: &Path, kept: Option<Head>) -> Result<Verified, VerifyError> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Check::new(kept).finish(),
        file => file?,
    };
    // With the lock nobody is half way through a line. Without it one may be, and counts as torn.
    let locked = file.try_lock_shared().is_ok();
    let len = file.metadata()?.len();
    if locked {
        file.unlock()?;
    }

    let mut check = Check::new(kept);
    let mut reader = BufReader::new(file).take(len);
    let mut line = Vec::new();
    while (&mut reader).take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut line)? > 0 {
        check.line(&line)?;
        line.clear();
    }
    check.finish()
}

/// How far the reading has come.
struct Check {
    kept: Option<Head>,
    line: u64,
    head: Head,
    torn_lines: u64,
    /// The first torn line since the last whole one.
    torn_at: Option<u64>,
}

impl Check {
    fn new(kept: Option<Head>) -> Self {
        Self { kept, line: 0, head: Head::START, torn_lines: 0, torn_at: None }
    }

    fn line(&mut self, line: &[u8]) -> Result<(), VerifyError> {
        self.line += 1;
        if line.len() == LINE_BYTES_MAX {
            return self.broken(Why::TooLong);
        }
        match line::read(line.strip_suffix(b"\n").unwrap_or(line)) {
            Line::Whole { prev, head } => self.whole(prev, head),
            Line::Changed => self.broken(Why::Changed),
            Line::Torn => {
                self.torn_lines += 1;
                self.torn_at.get_or_insert(self.line);
                Ok(())
            }
        }
    }

    fn whole(&mut self, prev: Hash, head: Head) -> Result<(), VerifyError> {
        let expected = self.head.seq + 1;
        match self.torn_at.take() {
            Some(line) if head.seq != expected => {
                return Err(VerifyError::Broken { line, why: Why::Mutilated { missing: expected } });
            }
            _ if head.seq != expected => return self.broken(Why::OutOfOrder { expected, found: head.seq }),
            _ if prev != self.head.hash => return self.broken(Why::Unlinked),
            _ => self.head = head,
        }
        match self.kept {
            Some(kept) if kept.seq == head.seq && kept.hash != head.hash => {
                self.broken(Why::NotAsKept { seq: head.seq })
            }
            _ => Ok(()),
        }
    }

    fn finish(mut self) -> Result<Verified, VerifyError> {
        let found = self.head.seq;
        if let Some(kept) = self.kept.filter(|kept| kept.seq > found) {
            self.line += 1;
            return self.broken(Why::EndMissing { found, kept: kept.seq });
        }
        Ok(Verified { records: found, torn_lines: self.torn_lines, head: self.head })
    }

    fn broken<T>(&self, why: Why) -> Result<T, VerifyError> {
        Err(VerifyError::Broken { line: self.line, why })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
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
        let path = dir.path().join("book");
        fs::write(&path, bytes).unwrap();
        verify(&path, None)
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
        let nothing = Verified { records: 0, torn_lines: 0, head: Head::START };
        assert_eq!(verify_bytes(b"").unwrap(), nothing);
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(verify(&dir.path().join("no book"), None).unwrap(), nothing);
        assert!(matches!(verify(dir.path(), None), Err(VerifyError::Unreadable(_))));
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
                format!("line 3 of the audit book: it holds record 4 where 3 should be: {order}"),
            ),
            (
                &[2, 3, 4, 5],
                format!("line 1 of the audit book: it holds record 2 where 1 should be: {order}"),
            ),
            (
                &[1, 3, 2, 4, 5],
                format!("line 2 of the audit book: it holds record 3 where 2 should be: {order}"),
            ),
            (
                &[1, 2, 2, 3, 4],
                format!("line 3 of the audit book: it holds record 2 where 3 should be: {order}"),
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
            "line 3 of the audit book: it does not follow from the record before it: that one was replaced",
        );
    }

    #[test]
    fn a_mutilated_line_is_no_crash() {
        let mut lines = book();
        lines[2] = [&lines[2][..50], b"\n"].concat();
        check_broken(&lines, "line 3 of the audit book: it is not whole, and record 3 is missing after it");
        // A crash left the same bytes, but the record came again.
        let mut lines = book();
        lines.insert(2, [&lines[2][..50], b"\n"].concat());
        let verified = verify_bytes(&lines.concat()).unwrap();
        assert_eq!((verified.records, verified.torn_lines), (5, 1));
    }

    #[test]
    fn an_endless_line_takes_no_memory() {
        let mut lines = book();
        lines.push(vec![b'x'; 4 * LINE_BYTES_MAX]);
        check_broken(&lines, "line 6 of the audit book: it is longer than any record");
    }
}

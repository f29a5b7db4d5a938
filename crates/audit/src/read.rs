//! The lines of the audit log for whoever looks at them: its end, all of it, or what comes next.
#![expect(clippy::disallowed_methods, reason = "the audit log is a declared home of files")]

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::chain::{self, LINE_BYTES_MAX};
use crate::segments::{self, FILE, is_same};

/// How much of the end of a segment is read, until there are as many lines as were asked for. Most questions need no more
/// than the first.
const TAIL_BYTES: [u64; 3] = [64 * 1024, 4 * 1024 * 1024, u64::MAX];

/// The last lines of an audit log, oldest first, as they stand there, without those that hold no record. `path` is the audit log's folder, or
/// one segment. Fewer than `lines` if there are no more in it; none if there is no audit log. Blocks on the disk.
pub fn tail(path: &Path, lines: usize) -> io::Result<Vec<String>> {
    let mut last = VecDeque::new();
    for part in segments::parts(path)?.into_iter().rev() {
        let Some(file) = part.file.open()? else { break };
        for line in tail_of(&file, lines - last.len())?.into_iter().rev() {
            last.push_front(line);
        }
        if last.len() >= lines {
            break;
        }
    }
    Ok(last.into())
}

fn tail_of(mut file: &File, lines: usize) -> io::Result<VecDeque<String>> {
    let len = file.metadata()?.len();
    for window in TAIL_BYTES {
        let start = len.saturating_sub(window);
        file.seek(SeekFrom::Start(start))?;
        let mut last = VecDeque::new();
        // The first line of a part may have lost its beginning.
        for line in chain::lines(BufReader::new(file)).skip(usize::from(start > 0)) {
            let line = line?;
            if chain::split(&line).is_some() {
                last.push_back(String::from_utf8_lossy(&line).into_owned());
            }
            if last.len() > lines {
                last.pop_front();
            }
        }
        if last.len() == lines || start == 0 {
            return Ok(last);
        }
    }
    Ok(VecDeque::new())
}

/// Reads an audit log from one of its records on, line by line, and goes on where it ended.
pub struct Reader {
    path: PathBuf,
    files: VecDeque<File>,
    current: Option<BufReader<File>>,
    /// What was read of the line that is not at its end yet.
    begun: Vec<u8>,
    /// The number of the last record handed out, or of the one to begin behind.
    seen: u64,
}

impl Reader {
    /// Reads the records after this one; 0 for all. `path` is the audit log's folder, or one segment. Blocks on the
    /// disk, as does everything here.
    pub fn since(path: &Path, seq: u64) -> io::Result<Reader> {
        let mut reader = Reader {
            path: path.to_owned(),
            files: VecDeque::new(),
            current: None,
            begun: Vec::new(),
            seen: seq,
        };
        reader.begin()?;
        Ok(reader)
    }

    fn begin(&mut self) -> io::Result<()> {
        self.files = segments::files_since(&self.path, self.seen)?.into();
        self.current = self.files.pop_front().map(BufReader::new);
        self.begun.clear();
        Ok(())
    }

    /// The next line as it stands there; `None` at the end of the audit log as it is now. Asked again later, it goes
    /// on from there. Lines that a crash cut short are left out: they hold no record.
    pub fn next_line(&mut self) -> io::Result<Option<String>> {
        loop {
            if self.current.is_none() {
                // There was no audit log.
                self.begin()?;
            }
            let Some(current) = &mut self.current else { return Ok(None) };
            let room = (LINE_BYTES_MAX + 1).saturating_sub(self.begun.len()) as u64;
            let read = current.take(room).read_until(b'\n', &mut self.begun)?;
            if self.begun.last() == Some(&b'\n') {
                if let Some(line) = self.line() {
                    return Ok(Some(line));
                }
            } else if self.begun.len() > LINE_BYTES_MAX {
                // No line of ours; what is left of it is none either.
                self.begun.clear();
            } else if read == 0 && !self.next_file()? {
                return Ok(None);
            }
        }
    }

    /// The whole line that was read, if it is to be handed out.
    fn line(&mut self) -> Option<String> {
        let begun = std::mem::take(&mut self.begun);
        let line = chain::without_zeros(begun.trim_ascii_end());
        // Torn lines bear the number of a record that comes again after them.
        chain::split(line)?;
        let line = str::from_utf8(line).ok()?;
        let seq = chain::seq_of(line.as_bytes()).filter(|seq| *seq > self.seen)?;
        self.seen = seq;
        Some(line.to_owned())
    }

    /// Goes on with the next segment. False at the end of the audit log.
    fn next_file(&mut self) -> io::Result<bool> {
        if let Some(next) = self.files.pop_front() {
            self.begun.clear();
            self.current = Some(BufReader::new(next));
            return Ok(true);
        }
        let Some(current) = &self.current else { return Ok(false) };
        let ours = current.get_ref().metadata()?;
        let has_moved = match fs::metadata(self.path.join(FILE)) {
            Ok(open) => self.path.is_dir() && !is_same(&ours, &open),
            // Closed, and not begun again yet.
            Err(_) => false,
        };
        if !has_moved {
            return Ok(false);
        }
        // Begins with the segment that we are in, under its new name, behind the last record handed out.
        self.begin()?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::{head::Head, line, record::tests::sample};

    #[test]
    fn a_segment_that_is_larger_than_what_is_read_first_has_no_fewer_lines() {
        let (mut bytes, mut head) = (Vec::new(), Head::START);
        for nth in 0..1_000 {
            head = line::write(&mut bytes, head, nth, &sample(&nth.to_string()));
        }
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let whole: Vec<String> = str::from_utf8(&bytes).unwrap().lines().map(str::to_owned).collect();
        assert!(bytes.len() as u64 > TAIL_BYTES[0]);
        for lines in [0, 1, 100, 999, 1_000, 1_001] {
            let found = tail_of(&file, lines).unwrap();
            assert_eq!(found, &whole[1_000_usize.saturating_sub(lines)..], "{lines}");
        }
    }
}

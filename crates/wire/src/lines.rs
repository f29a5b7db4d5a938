//! Newline-delimited frames: bytes go in as they arrive, whole lines come out.
//!
//! A line over the limit is reported once and skipped to its end, so memory stays bounded and the next
//! request works.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Room made for one read, in bytes: what a pipe holds.
pub const READ_BYTES: usize = 64 * 1024;

/// The largest buffer that is kept for the next line, in bytes. What a longer line needed is given back with it: the
/// largest message would otherwise stay in memory for as long as the connection lasts.
const KEPT_BYTES_MAX: usize = 4 * READ_BYTES;

/// The unit of stdio.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line without its end; never empty.
    Whole(Bytes),
    /// A line longer than the limit; its bytes are gone.
    TooLong,
}

/// Ends the frame that begins at `start` of `out`, as one line.
///
/// JSON text may hold line breaks between its tokens, and what we pass on is not ours. Behind such a break
/// the rest of the text would be a message of its own, past every check; as blanks they mean the same.
pub fn end_line(out: &mut Vec<u8>, start: usize) {
    let mut at = start;
    while let Some(found) = memchr::memchr2(b'\n', b'\r', &out[at..]) {
        out[at + found] = b' ';
        at += found + 1;
    }
    out.push(b'\n');
}

/// Collects bytes and cuts them into lines.
#[derive(Debug)]
pub struct Lines {
    buffer: BytesMut,
    /// Bytes of the buffer known to hold no line end.
    searched: usize,
    /// True while the rest of a line that was too long goes by.
    skipping: bool,
    line_bytes_max: usize,
}

impl Lines {
    /// Lines of at most `line_bytes_max` bytes.
    pub fn new(line_bytes_max: usize) -> Lines {
        Lines { buffer: BytesMut::new(), searched: 0, skipping: false, line_bytes_max }
    }

    /// Room to read into: whoever reads appends to it.
    pub fn room(&mut self) -> &mut BytesMut {
        if self.buffer.capacity() - self.buffer.len() < READ_BYTES / 2 {
            self.buffer.reserve(READ_BYTES);
        }
        &mut self.buffer
    }

    /// Takes in bytes that were read elsewhere.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.put_slice(bytes);
    }

    /// The next line, if one is complete.
    pub fn next_line(&mut self) -> Option<Line> {
        loop {
            match memchr::memchr(b'\n', &self.buffer[self.searched..]) {
                Some(offset) => {
                    let mut line = self.buffer.split_to(self.searched + offset + 1);
                    self.searched = 0;
                    if line.len() > KEPT_BYTES_MAX {
                        self.part_from_large();
                    }
                    if std::mem::take(&mut self.skipping) {
                        continue;
                    }
                    line.truncate(line.len() - 1);
                    if line.last() == Some(&b'\r') {
                        line.truncate(line.len() - 1);
                    }
                    if line.len() > self.line_bytes_max {
                        return Some(Line::TooLong);
                    }
                    if !line.trim_ascii().is_empty() {
                        return Some(Line::Whole(line.freeze()));
                    }
                }
                None => {
                    self.searched = self.buffer.len();
                    return self.check_length();
                }
            }
        }
    }

    /// Takes what came behind a large line out of the memory that both share, which then goes with the line. That is
    /// what one read brought at most, so the copy is small.
    fn part_from_large(&mut self) {
        let rest = std::mem::take(&mut self.buffer);
        self.buffer.extend_from_slice(&rest);
    }

    /// Reports and drops an unfinished line once it is over the limit.
    fn check_length(&mut self) -> Option<Line> {
        // One byte of grace for a carriage return before the line end.
        if self.buffer.len() <= self.line_bytes_max + 1 && !self.skipping {
            return None;
        }
        self.buffer.advance(self.buffer.len());
        self.searched = 0;
        if self.buffer.capacity() > KEPT_BYTES_MAX {
            self.buffer = BytesMut::new();
        }
        (!std::mem::replace(&mut self.skipping, true)).then_some(Line::TooLong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `input` in pieces of `piece` bytes and collects what comes out.
    fn cut(input: &str, piece: usize, line_bytes_max: usize) -> Vec<String> {
        let mut lines = Lines::new(line_bytes_max);
        let mut found = Vec::new();
        for bytes in input.as_bytes().chunks(piece) {
            lines.feed(bytes);
            while let Some(line) = lines.next_line() {
                found.push(match line {
                    Line::Whole(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                    Line::TooLong => "<too long>".into(),
                });
            }
        }
        found
    }

    #[test]
    fn lines_come_out_whole_however_they_arrive() {
        let cases: [(&str, &[&str]); 5] = [
            ("a\nbc\n", &["a", "bc"]),
            ("a\r\n\r\n\n  \nb\n", &["a", "b"]),
            ("12345678\n1\n", &["12345678", "1"]),
            ("123456789\n1\n", &["<too long>", "1"]),
            ("1234567890123456789012345678901\nok\nunfin", &["<too long>", "ok"]),
        ];
        for (input, expected) in cases {
            for piece in [1, 2, 3, 7, 100] {
                assert_eq!(cut(input, piece, 8), expected, "{input:?} in pieces of {piece}");
            }
        }
    }

    /// How much room is kept once a line of `line_bytes` bytes is gone, and `behind` has come with its end.
    fn kept(line_bytes: usize, behind: &str) -> usize {
        let mut lines = Lines::new(16 * 1024 * 1024);
        let (line, mut left) = ("x".repeat(line_bytes) + "\n" + behind, 0);
        while left < line.len() {
            let room = lines.room();
            let read = line[left..].len().min(room.capacity() - room.len()).min(READ_BYTES);
            room.extend_from_slice(&line.as_bytes()[left..left + read]);
            left += read;
            while let Some(line) = lines.next_line() {
                assert!(matches!(line, Line::Whole(line) if line.len() == line_bytes), "{line_bytes}");
            }
        }
        assert_eq!(lines.buffer, behind.as_bytes());
        // Room that was cut off before is not counted until it is asked for again.
        lines.buffer.reserve(READ_BYTES);
        lines.buffer.capacity()
    }

    #[test]
    fn a_large_line_takes_its_memory_with_it() {
        for line_bytes in [10, KEPT_BYTES_MAX, KEPT_BYTES_MAX + 1, 10 * 1024 * 1024] {
            for behind in ["", "{\"a\":", &"y".repeat(READ_BYTES / 2)] {
                let kept = kept(line_bytes, behind);
                assert!(kept <= 2 * KEPT_BYTES_MAX + READ_BYTES, "{kept} after {line_bytes}");
            }
        }
    }

    #[test]
    fn a_frame_is_one_line_whatever_it_is_made_of() {
        let mut out = b"{}\n".to_vec();
        let start = out.len();
        out.extend_from_slice(b"{\"a\":\n{\"method\":1}\r\n}");
        end_line(&mut out, start);
        assert_eq!(out, b"{}\n{\"a\": {\"method\":1}  }\n");
    }

    #[test]
    fn a_line_that_never_ends_takes_no_memory() {
        let mut lines = Lines::new(1024);
        let mut reports = 0;
        for _ in 0..1000 {
            lines.feed(&[b'x'; 10_000]);
            reports += usize::from(lines.next_line() == Some(Line::TooLong));
        }
        assert_eq!(reports, 1);
        assert!(lines.buffer.capacity() <= 4 * READ_BYTES, "{}", lines.buffer.capacity());
    }
}

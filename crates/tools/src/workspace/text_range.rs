//! Picks a range of lines out of a text that comes in pieces, within a budget of bytes.
//!
//! A line ends with `\n`; a `\r` before it belongs to the line. What is picked is a run of the original
//! bytes: pieces picked one after the other make up the text again. Only the first line can begin or end within itself; one that
//! does is cut without its secrets, since nobody would know half of one again, and its bytes are counted as they are without.
//! A line that is shown whole stays as it is: with it, whoever strikes the answer knows secrets of several lines.

use tool_api::Striking;

use memchr::{memchr, memchr_iter, memrchr};

/// Which part of a text is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextRange {
    /// The first line, counted from 1.
    pub(super) first_line: u64,
    /// Bytes of the first line that were read before.
    pub(super) line_byte: u64,
    /// At most so many lines; at least 1.
    pub(super) lines_max: Option<u64>,
}

impl TextRange {
    /// The whole text.
    pub(super) const ALL: TextRange = TextRange { first_line: 1, line_byte: 0, lines_max: None };

    /// Whether nothing of this text is out of it.
    pub(super) fn is_all_of(&self, text: &[u8]) -> bool {
        let lines = || memchr_iter(b'\n', text).count() + usize::from(!text.ends_with(b"\n"));
        (self.first_line, self.line_byte) == (1, 0) && self.lines_max.is_none_or(|max| lines() as u64 <= max)
    }
}

/// Where to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// At the beginning of a line.
    Line(u64),
    /// Within a line that is longer than the budget.
    Within { line: u64, byte: u64 },
}

/// What was picked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Picked {
    pub(super) bytes: Vec<u8>,
    pub(super) range: TextRange,
    pub(super) last_line: u64,
    /// The number of lines of the whole text, if it was seen to its end.
    pub(super) lines_total: Option<u64>,
    /// Nothing if the text ends here.
    pub(super) next: Option<Next>,
}

/// The range does not exist in the text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoSuchRange {
    #[error("the file has {lines_total} {}, so offset {asked} is beyond its end", if *.lines_total == 1 { "line" } else { "lines" })]
    BeyondText { lines_total: u64, asked: u64 },
    #[error("line {line} has {line_bytes} bytes, so line_byte {asked} is beyond its end")]
    BeyondLine { line: u64, line_bytes: u64, asked: u64 },
    #[error("line_byte {asked} is in the middle of a character")]
    WithinCharacter { asked: u64 },
}

/// Takes a text in pieces and keeps what is wanted.
pub(super) struct Picker {
    range: TextRange,
    /// What strikes secrets out of the first line, if it is cut.
    striking: Option<Box<dyn Striking>>,
    /// The first line is known to be cut.
    is_first_cut: bool,
    bytes_max: usize,
    kept: Vec<u8>,
    /// How much of `kept` are whole lines.
    whole_bytes: usize,
    next: Option<Next>,
    /// The line the next byte belongs to, and how many bytes of it have gone by.
    line: u64,
    line_bytes: u64,
    /// How many of the first one, as it is shown.
    first_line_bytes: u64,
}

impl Picker {
    pub(super) fn new(range: TextRange, bytes_max: usize, striking: Option<Box<dyn Striking>>) -> Picker {
        Picker {
            range,
            is_first_cut: range.line_byte > 0,
            striking,
            bytes_max,
            kept: Vec::new(),
            whole_bytes: 0,
            next: None,
            line: 1,
            line_bytes: 0,
            first_line_bytes: 0,
        }
    }

    /// True if the rest of the text can only be counted.
    pub(super) fn is_done(&self) -> bool {
        self.next.is_some()
    }

    /// Takes the next piece of the text.
    pub(super) fn feed(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while !rest.is_empty() && !self.is_done() {
            let end = memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
            let (part, tail) = rest.split_at(end);
            self.take(part);
            rest = tail;
        }
        self.count(rest);
    }

    /// Takes a part of one line.
    fn take(&mut self, part: &[u8]) {
        let closes_line = part.ends_with(b"\n");
        if self.line == self.range.first_line {
            self.strike_first(part, closes_line);
        } else if self.line > self.range.first_line {
            self.keep(part, closes_line);
        }
        self.count(part);
    }

    /// Takes a part of the first line, without its secrets if the line is cut.
    fn strike_first(&mut self, part: &[u8], closes_line: bool) {
        let Some(striking) = &mut self.striking else { return self.take_first(part, closes_line) };
        let mut clean = Vec::new();
        if !self.is_first_cut {
            if part.len() <= self.bytes_max - self.kept.len() {
                return self.take_first(part, closes_line);
            }
            // From its beginning.
            self.is_first_cut = true;
            self.first_line_bytes = 0;
            clean = striking.push(&std::mem::take(&mut self.kept));
        }
        clean.extend(striking.push(part));
        if closes_line {
            clean.extend(striking.finish());
        }
        self.take_first(&clean, closes_line);
    }

    /// Takes a part of the first line, behind what was read of it before.
    fn take_first(&mut self, part: &[u8], closes_line: bool) {
        let left = self.range.line_byte.saturating_sub(self.first_line_bytes);
        let skipped = usize::try_from(left).unwrap_or(usize::MAX).min(part.len());
        self.first_line_bytes += part.len() as u64;
        self.keep(&part[skipped..], closes_line);
    }

    fn keep(&mut self, part: &[u8], closes_line: bool) {
        let space = self.bytes_max - self.kept.len();
        if part.len() > space {
            return self.cut(&part[..space]);
        }
        self.kept.extend_from_slice(part);
        if closes_line {
            self.whole_bytes = self.kept.len();
            let lines = self.line + 1 - self.range.first_line;
            if self.range.lines_max.is_some_and(|max| lines >= max) {
                self.next = Some(Next::Line(self.line + 1));
            }
        }
    }

    /// The line does not fit. It is left for the next call, unless there is nothing else to show.
    fn cut(&mut self, fitting: &[u8]) {
        if self.whole_bytes > 0 {
            self.kept.truncate(self.whole_bytes);
            self.next = Some(Next::Line(self.line));
            return;
        }
        self.kept.extend_from_slice(fitting);
        drop_partial_character(&mut self.kept);
        let before = if self.line == self.range.first_line { self.range.line_byte } else { 0 };
        self.next = Some(Next::Within { line: self.line, byte: before + self.kept.len() as u64 });
    }

    fn count(&mut self, piece: &[u8]) {
        match memrchr(b'\n', piece) {
            None => self.line_bytes += piece.len() as u64,
            Some(last) => {
                self.line += memchr_iter(b'\n', piece).count() as u64;
                self.line_bytes = (piece.len() - last - 1) as u64;
            }
        }
    }

    /// What was picked; `ended` says that the text was fed to its end.
    pub(super) fn finish(mut self, ended: bool) -> Result<Picked, NoSuchRange> {
        let range = self.range;
        // What is struck out of a line that no line end closes is certain only now.
        if self.line == range.first_line && self.is_first_cut && !self.is_done() {
            let rest = self.striking.take().map(|mut striking| striking.finish());
            self.take_first(&rest.unwrap_or_default(), false);
        }
        let lines_total = self.line - 1 + u64::from(self.line_bytes > 0);
        let lines_total = ended.then_some(lines_total);
        if let Some(lines_total) = lines_total.filter(|&total| range.first_line > total.max(1)) {
            return Err(NoSuchRange::BeyondText { lines_total, asked: range.first_line });
        }
        if range.line_byte > 0 {
            self.check_line_byte()?;
        }
        let is_end =
            |next: &Next| matches!((next, lines_total), (Next::Line(line), Some(total)) if *line > total);
        let next = self.next.filter(|next| !is_end(next));
        let last_line = match (next, lines_total) {
            (Some(Next::Line(line)), _) => line - 1,
            (Some(Next::Within { line, .. }), _) => line,
            (None, total) => total.unwrap_or(self.line),
        };
        Ok(Picked { bytes: self.kept, range, last_line, lines_total, next })
    }

    fn check_line_byte(&self) -> Result<(), NoSuchRange> {
        let (asked, line_bytes) = (self.range.line_byte, self.first_line_bytes);
        if asked >= line_bytes {
            return Err(NoSuchRange::BeyondLine { line: self.range.first_line, line_bytes, asked });
        }
        if self.kept.first().is_some_and(|&byte| is_continuation(byte)) {
            return Err(NoSuchRange::WithinCharacter { asked });
        }
        Ok(())
    }
}

impl Picked {
    /// What to tell the reader about what is not there: nothing if the whole text is.
    pub(super) fn mark(&self, file_bytes: u64) -> Option<String> {
        if self.next.is_none() && self.range.first_line == 1 && self.range.line_byte == 0 {
            return None;
        }
        let total = self.lines_total.map_or("an unknown number".to_owned(), |total| total.to_string());
        let (first, last) = (self.range.first_line, self.last_line);
        let what = if first == last { format!("Line {first}") } else { format!("Lines {first} to {last}") };
        let from = match self.range.line_byte {
            0 => String::new(),
            byte => format!(", from byte {byte} of line {first}"),
        };
        let shown = self.bytes.len();
        let on = match self.next {
            None => "This is the end of the file.".to_owned(),
            Some(Next::Line(line)) => format!("To read on, call again with offset: {line}."),
            Some(Next::Within { line, byte }) => format!(
                "Line {line} is too long for one answer. To read on within it, call again with offset: {line}, \
                 line_byte: {byte}."
            ),
        };
        Some(format!("[{what} of {total}{from}; {shown} bytes of a file of {file_bytes}. {on}]"))
    }
}

/// A UTF-8 character that was cut in two goes to the next call as a whole.
fn drop_partial_character(bytes: &mut Vec<u8>) {
    let tail = bytes.iter().rev().take(3).position(|&byte| !is_continuation(byte));
    let Some(behind) = tail else { return };
    let lead = bytes[bytes.len() - 1 - behind];
    let width = match lead {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    };
    if behind + 1 < width {
        bytes.truncate(bytes.len() - 1 - behind);
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pick(
        text: &str,
        range: TextRange,
        bytes_max: usize,
        piece_bytes: usize,
    ) -> Result<Picked, NoSuchRange> {
        let mut picker = Picker::new(range, bytes_max, None);
        text.as_bytes().chunks(piece_bytes).for_each(|piece| picker.feed(piece));
        picker.finish(true)
    }

    /// Whatever the size of the pieces, the answer is the same.
    fn check(text: &str, (first_line, line_byte, lines_max): (u64, u64, Option<u64>), expected: &str) {
        const BUDGET_BYTES: usize = 10;
        let range = TextRange { first_line, line_byte, lines_max };
        for piece_bytes in [1, 2, 3, 7, 1000] {
            let found = match pick(text, range, BUDGET_BYTES, piece_bytes) {
                Ok(picked) => {
                    let shown = String::from_utf8(picked.bytes.clone()).expect("cut between characters");
                    let mark = picked.mark(text.len() as u64).unwrap_or_default();
                    format!("{shown:?} {mark}")
                }
                Err(error) => error.to_string(),
            };
            assert_eq!(found.trim(), expected, "{text:?} {range:?} in pieces of {piece_bytes}");
        }
    }

    #[test]
    fn what_fits_is_whole() {
        check("a\nb\n", (1, 0, None), r#""a\nb\n""#);
        check("a\r\nb", (1, 0, None), r#""a\r\nb""#);
        check("0123456789", (1, 0, None), r#""0123456789""#);
        check("", (1, 0, None), r#""""#);
        check("\n", (1, 0, Some(1)), r#""\n""#);
    }

    #[test]
    fn lines_are_picked() {
        let text = "a\r\nb\n\nd";
        check(
            text,
            (1, 0, Some(1)),
            r#""a\r\n" [Line 1 of 4; 3 bytes of a file of 7. To read on, call again with offset: 2.]"#,
        );
        check(
            text,
            (2, 0, Some(2)),
            r#""b\n\n" [Lines 2 to 3 of 4; 3 bytes of a file of 7. To read on, call again with offset: 4.]"#,
        );
        check(
            text,
            (4, 0, None),
            r#""d" [Line 4 of 4; 1 bytes of a file of 7. This is the end of the file.]"#,
        );
        check(
            text,
            (2, 0, Some(99)),
            r#""b\n\nd" [Lines 2 to 4 of 4; 4 bytes of a file of 7. This is the end of the file.]"#,
        );
        check(text, (1, 0, Some(4)), r#""a\r\nb\n\nd""#);
    }

    #[test]
    fn the_budget_cuts_at_a_line_end() {
        check("1234\n1234\n", (1, 0, None), r#""1234\n1234\n""#);
        check(
            "1234\n12345\n",
            (1, 0, None),
            r#""1234\n" [Line 1 of 2; 5 bytes of a file of 11. To read on, call again with offset: 2.]"#,
        );
        check(
            "1\n2\n3\n4\n5\n6\n",
            (1, 0, None),
            r#""1\n2\n3\n4\n5\n" [Lines 1 to 5 of 6; 10 bytes of a file of 12. To read on, call again with offset: 6.]"#,
        );
        check("1\n2\n3\n4\n5\n", (1, 0, None), r#""1\n2\n3\n4\n5\n""#);
    }

    #[test]
    fn a_giant_line_is_cut_between_characters() {
        check(
            "0123456789ab\nc",
            (1, 0, None),
            r#""0123456789" [Line 1 of 2; 10 bytes of a file of 14. Line 1 is too long for one answer. To read on within it, call again with offset: 1, line_byte: 10.]"#,
        );
        check(
            "0123456789ab\nc",
            (1, 10, None),
            r#""ab\nc" [Lines 1 to 2 of 2, from byte 10 of line 1; 4 bytes of a file of 14. This is the end of the file.]"#,
        );
        check(
            "12345678€9\n",
            (1, 0, None),
            r#""12345678" [Line 1 of 1; 8 bytes of a file of 13. Line 1 is too long for one answer. To read on within it, call again with offset: 1, line_byte: 8.]"#,
        );
        check(
            "a\n123456789€\n",
            (2, 0, None),
            r#""123456789" [Line 2 of 2; 9 bytes of a file of 15. Line 2 is too long for one answer. To read on within it, call again with offset: 2, line_byte: 9.]"#,
        );
    }

    #[test]
    fn ranges_that_do_not_exist_are_refused() {
        check("a\nb\n", (3, 0, None), "the file has 2 lines, so offset 3 is beyond its end");
        check("a", (2, 0, None), "the file has 1 line, so offset 2 is beyond its end");
        check("", (2, 0, None), "the file has 0 lines, so offset 2 is beyond its end");
        check("a\nbc\n", (1, 2, None), "line 1 has 2 bytes, so line_byte 2 is beyond its end");
        check("", (1, 2, None), "line 1 has 0 bytes, so line_byte 2 is beyond its end");
        check("€uro", (1, 1, None), "line_byte 1 is in the middle of a character");
    }

    #[test]
    fn reading_on_gives_the_text_again() {
        for text in [
            "é€😀x\n\n0123456789abcdefé€😀 0123456789\r\n\r\nend",
            "\n\n\n\n\n\n\n\n\n\n\n\n",
            "😀😀😀😀😀😀",
        ] {
            let (mut range, mut all) = (TextRange::ALL, Vec::new());
            loop {
                let picked = pick(text, range, 10, 4).expect("what is announced exists");
                assert!(!picked.bytes.is_empty(), "no step without progress");
                all.extend_from_slice(
                    std::str::from_utf8(&picked.bytes).expect("whole characters").as_bytes(),
                );
                range = match picked.next {
                    None => break,
                    Some(Next::Line(first_line)) => TextRange { first_line, ..TextRange::ALL },
                    Some(Next::Within { line, byte }) => {
                        TextRange { first_line: line, line_byte: byte, lines_max: None }
                    }
                };
            }
            assert_eq!(String::from_utf8(all).expect("as it was"), text);
        }
    }

    #[test]
    fn a_text_left_early_has_no_known_end() {
        let mut picker = Picker::new(TextRange { lines_max: Some(1), ..TextRange::ALL }, 10, None);
        picker.feed(b"a\nb");
        assert!(picker.is_done());
        let mark = picker.finish(false).expect("it exists").mark(1000);
        let expected = "[Line 1 of an unknown number; 2 bytes of a file of 1000. To read on, call again with offset: 2.]";
        assert_eq!(mark.as_deref(), Some(expected));
    }

    #[test]
    fn a_short_text_is_all_in_its_range() {
        let at_most = |lines_max| TextRange { lines_max: Some(lines_max), ..TextRange::ALL };
        for (range, text, is_all) in [
            (TextRange::ALL, "a\nb", true),
            (at_most(2), "a\nb", true),
            (at_most(2), "a\nb\n", true),
            (at_most(1), "a\nb", false),
            (at_most(1), "a\n", true),
            (at_most(1), "a\n\n", false),
            (TextRange { first_line: 2, ..TextRange::ALL }, "a\nb", false),
            (TextRange { line_byte: 1, ..TextRange::ALL }, "ab", false),
        ] {
            assert_eq!(range.is_all_of(text.as_bytes()), is_all, "{range:?} {text:?}");
        }
    }
}

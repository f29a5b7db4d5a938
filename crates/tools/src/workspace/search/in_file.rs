//! What is found in one file.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read as _};

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};
use tool_api::Secrets;

use super::super::lines_told::struck;

/// Longest part of a line that is shown, in bytes.
const SHOWN_BYTES_MAX: usize = 500;

/// The longest line that is searched, in bytes: what is held of one file.
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A file up to this size is read with one call of the system, in bytes. The engine looks for a NUL in as much of what it is given
/// whole, so that a binary file is one either way.
const WHOLE_BYTES_MAX: usize = 64 * 1024;

/// A line of a file.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) number: u64,
    /// Or it is shown for a line beside it.
    pub(super) is_match: bool,
    pub(super) text: String,
}

/// What was found in a file.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Those that are shown, and around them.
    pub(super) lines: Vec<Line>,
    /// How many lines match, as far as was looked.
    pub(super) matches: u64,
    /// It was not looked at to its end.
    pub(super) has_more: bool,
    pub(super) is_binary: bool,
}

/// How a file is looked through.
pub(super) struct Looking<'a> {
    pub(super) matcher: &'a RegexMatcher,
    /// Keep lines, or only count them.
    pub(super) keeps_lines: bool,
    /// Most matching lines; the file is left at the next one.
    pub(super) matches_max: u64,
    /// Only lines behind this one.
    pub(super) after_line: u64,
    /// Text in one answer: the file is left when more of it is kept.
    pub(super) text_bytes_max: usize,
    pub(super) secrets: Option<&'a dyn Secrets>,
}

fn searcher(context: usize) -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(LINE_BYTES_MAX))
        .build()
}

/// Looks through one file after the other.
pub(super) struct Reader {
    searcher: Searcher,
    /// A small file.
    whole: Vec<u8>,
}

impl Reader {
    /// One that shows so many lines around each that matches.
    pub(super) fn new(context: usize) -> Reader {
        Reader { searcher: searcher(context), whole: Vec::with_capacity(WHOLE_BYTES_MAX) }
    }
}

impl Looking<'_> {
    /// Looks through an open file that has so many bytes.
    pub(super) fn through(&self, reader: &mut Reader, file: &File, bytes: u64) -> io::Result<Found> {
        let mut finding = Finding { looking: self, found: Found::default(), kept_bytes: 0 };
        let Reader { searcher, whole } = reader;
        // One that says 0 may have some all the same: those that a kernel or a program makes up while they are read.
        if bytes == 0 || bytes > WHOLE_BYTES_MAX as u64 {
            searcher.search_file(self.matcher, file, &mut finding)?;
        } else {
            whole.clear();
            file.take(bytes).read_to_end(whole)?;
            searcher.search_slice(self.matcher, whole, &mut finding)?;
        }
        Ok(finding.found)
    }
}

struct Finding<'a> {
    looking: &'a Looking<'a>,
    found: Found,
    /// Of the lines of `found`.
    kept_bytes: usize,
}

impl Finding<'_> {
    fn keep(&mut self, number: Option<u64>, is_match: bool, line: &[u8]) {
        let number = number.unwrap_or_default();
        if self.looking.keeps_lines && number > self.looking.after_line {
            let text = self.shown(line, is_match);
            self.kept_bytes += text.len();
            self.found.lines.push(Line { number, is_match, text });
        }
    }

    /// As much of a line as is shown. Of one that is cut the secrets go first: nobody would know half of one again.
    fn shown(&self, line: &[u8], is_match: bool) -> String {
        let is_cut = line.len() > SHOWN_BYTES_MAX;
        let line = if is_cut { struck(line, self.looking.secrets) } else { Cow::Borrowed(line) };
        let find = || self.looking.matcher.find(&line).ok().flatten();
        let at = if is_cut && is_match { find().map_or(0, |found| found.start()) } else { 0 };
        shown(&line, at)
    }
}

impl Sink for Finding<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if line.line_number().is_some_and(|number| number <= self.looking.after_line) {
            return Ok(true);
        }
        if self.found.matches == self.looking.matches_max || self.kept_bytes > self.looking.text_bytes_max {
            self.found.has_more = true;
            return Ok(false);
        }
        self.found.matches += 1;
        self.keep(line.line_number(), true, line.bytes());
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.keep(line.line_number(), false, line.bytes());
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), io::Error> {
        self.found.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// As much of a line as is shown, with what stands at `at` in it.
fn shown(line: &[u8], at: usize) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let from = if line.len() > SHOWN_BYTES_MAX { at.saturating_sub(SHOWN_BYTES_MAX / 2) } else { 0 };
    let part = &line[from.min(line.len())..line.len().min(from + SHOWN_BYTES_MAX)];
    let (before, after) = (from > 0, from + part.len() < line.len());
    let sign = |is_cut: bool| if is_cut { "…" } else { "" };
    format!("{}{}{}", sign(before), String::from_utf8_lossy(part), sign(after))
}

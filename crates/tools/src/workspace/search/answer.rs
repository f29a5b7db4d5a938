//! What a search says: lines below the path of their file, as many as suit one answer, and how to go on.

use std::fmt::Write as _;

use super::super::listing::{OnOneLine, Unlisted};
use super::asked::{Asked, Mode, Searched};
use super::in_file::{Found, Line};

/// Files that could not be searched and are named; the rest is like them.
const FAILED_MAX: usize = 20;

/// An answer that is being put together.
pub(super) struct Answer {
    mode: Mode,
    limit: usize,
    text_bytes_max: usize,
    /// Lines around each that matches.
    context: u64,
    shown: String,
    /// Lines or files, as the mode has it.
    count: usize,
    files: usize,
    /// If there is more: the last file that is shown, and the last of its lines that matched.
    goes_on: Option<(String, Option<u64>)>,
    last: String,
    failed: Vec<(String, String)>,
    binary: usize,
    withheld: usize,
}

impl Answer {
    pub(super) fn new(asked: &Asked, unlisted: Vec<Unlisted>) -> Answer {
        Answer {
            mode: asked.mode,
            limit: asked.limit,
            text_bytes_max: asked.text_bytes_max,
            context: asked.context as u64,
            shown: String::new(),
            count: 0,
            files: 0,
            goes_on: None,
            last: String::new(),
            failed: unlisted.into_iter().map(|folder| (folder.path, folder.reason)).collect(),
            binary: 0,
            withheld: 0,
        }
    }

    /// Whether there is no room for more.
    pub(super) fn is_full(&self) -> bool {
        self.goes_on.is_some()
    }

    /// Adds what came of the next file.
    pub(super) fn add(&mut self, path: &str, searched: Searched) {
        match searched {
            Searched::Withheld => self.withheld += 1,
            Searched::Failed(why) => {
                if self.failed.len() < FAILED_MAX {
                    self.failed.push((path.to_owned(), why));
                }
            }
            Searched::Found(found) if found.is_binary => self.binary += 1,
            Searched::Found(found) if found.matches == 0 => {}
            Searched::Found(_) if self.count >= self.limit || self.shown.len() >= self.text_bytes_max => {
                self.goes_on = Some((self.last.clone(), None));
            }
            Searched::Found(found) => self.show(path, &found),
        }
    }

    fn show(&mut self, path: &str, found: &Found) {
        self.files += 1;
        path.clone_into(&mut self.last);
        let shown = OnOneLine(path);
        match self.mode {
            Mode::Files => self.line(format_args!("{shown}")),
            Mode::Counts => self.line(format_args!("{shown}:{}", found.matches)),
            Mode::Lines => {
                if self.files > 1 {
                    self.shown.push('\n');
                }
                self.line(format_args!("{shown}"));
                return self.lines(path, found);
            }
        }
        self.count += 1;
    }

    fn lines(&mut self, path: &str, found: &Found) {
        let (mut last_shown, mut last_match) = (None, 0);
        for line in &found.lines {
            let is_over = self.count >= self.limit || self.shown.len() >= self.text_bytes_max;
            if is_over && last_match > 0 && (line.is_match || line.number > last_match + self.context) {
                let has_more = found.has_more
                    || found.lines.iter().any(|other| other.is_match && other.number > last_match);
                self.goes_on = has_more.then(|| (path.to_owned(), Some(last_match)));
                return;
            }
            if self.context > 0 && last_shown.is_some_and(|last| line.number > last + 1) {
                self.line(format_args!("--"));
            }
            let Line { number, is_match, text } = line;
            self.line(format_args!("{number}{}{text}", if *is_match { ':' } else { '-' }));
            last_shown = Some(*number);
            if *is_match {
                last_match = *number;
                self.count += 1;
            }
        }
        self.goes_on = found.has_more.then(|| (path.to_owned(), Some(last_match)));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.shown, "{line}").expect("writing to a string cannot fail");
    }

    /// The whole; `unseen` is the path behind which nothing was looked at.
    pub(super) fn text(mut self, unseen: Option<String>) -> String {
        let of = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
        let what = match self.mode {
            Mode::Lines => format!("{} in {}", of(self.count, "matching line"), of(self.files, "file")),
            Mode::Files | Mode::Counts => of(self.files, "matching file"),
        };
        if self.binary > 0 {
            let text = format!("[Left out: {}.]", of(self.binary, "binary file"));
            self.line(format_args!("{text}"));
        }
        if self.withheld > 0 {
            let text = format!(
                "[Left out, since a rule of this project is about them: {}; name one as `path`.]",
                of(self.withheld, "file")
            );
            self.line(format_args!("{text}"));
        }
        for (path, why) in std::mem::take(&mut self.failed) {
            self.line(format_args!("[Not searched: {}: {why}]", OnOneLine(&path)));
        }
        match self.goes_on.take().or(unseen.map(|path| (path, None))) {
            None => self.line(format_args!("[{what}.]")),
            Some((path, None)) => self.line(format_args!(
                "[{what}, and there is more to search. To go on, call again with after: {path:?}.]"
            )),
            Some((path, Some(line))) => self.line(format_args!(
                "[{what}, and there is more. To go on, call again with after: {path:?}, after_line: {line}.]"
            )),
        }
        self.shown
    }
}

//! A patch as models write it, made one that a parser takes: the end of the last line is added, and the counts of a hunk that
//! are not those of its lines are put right, as `git apply --recount` does. What is left in doubt is an error with its line:
//! the parser itself drops what stands behind a hunk whose counts are too small.

use tool_api::ToolError;

/// What a patch looks like.
pub(super) const FORM: &str = "a unified diff is wanted: `--- FILE`, `+++ FILE`, then hunks of `@@ -12,3 +12,4 @@`, which is line and \
                    count before and after, and of lines that begin with a space, `-` or `+`";

/// How the line before a mail's signature looks.
const SIGNATURE: &str = "-- ";

/// Longest part of a line that is quoted, in characters.
const QUOTED_CHARS_MAX: usize = 80;

/// The patch with all counts right.
///
/// # Errors
/// It is no patch, or a hunk of it is none.
pub(super) fn counted(patch: &str) -> Result<String, ToolError> {
    let is_header = |line: &str| line.starts_with("--- ") || line.starts_with("+++ ");
    if !patch.lines().any(|line| is_header(line) || line.starts_with("diff --git ")) {
        let other = patch.trim_start().starts_with("*** Begin Patch");
        let what = if other { "`*** Begin Patch` begins another form" } else { "no line names a file" };
        return Err(unreadable(format!("{what}; {FORM}")));
    }
    let mut reading = Reading { lines: patch.split_inclusive('\n').collect(), ..Reading::default() };
    while let Some(&line) = reading.lines.get(reading.at) {
        match line {
            _ if line.starts_with("@@ -") || (reading.takes_hunks && line.starts_with("@@")) => {
                reading.hunk()?
            }
            _ if is_header(line) => reading.header(line),
            // A parser takes them for the end of the file's hunks.
            _ if reading.takes_hunks && is_blank(line) => reading.pass_blanks(),
            _ => {
                reading.takes_hunks = false;
                reading.keep(1);
            }
        }
    }
    Ok(reading.out)
}

/// What an error of the parser says, without where it was: that is a byte of a part.
pub(super) fn in_words(error: &dyn std::fmt::Display) -> ToolError {
    let error = error.to_string();
    let what = error.rsplit_once("error parsing").and_then(|(_, rest)| rest.split_once(": "));
    let what = what.map_or(&*error, |(_, what)| what);
    unreadable(format!("{what}; {FORM}"))
}

fn unreadable(why: String) -> ToolError {
    ToolError::new("invalid_patch", format!("the patch cannot be read: {why}"))
}

#[derive(Default)]
struct Reading<'p> {
    lines: Vec<&'p str>,
    /// The next line.
    at: usize,
    out: String,
    /// The file that the hunks are about.
    file: &'p str,
    /// Whether a hunk may come here.
    takes_hunks: bool,
    /// The line of the file behind the last hunk.
    behind: usize,
    /// How many lines longer the file is by its hunks so far.
    longer: isize,
}

/// `@@ -start,old +…,new @@rest`.
struct Header<'p> {
    start: usize,
    old: usize,
    new: usize,
    rest: &'p str,
}

/// How many lines there are before and after.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
struct Counts {
    old: usize,
    new: usize,
}

impl<'p> Reading<'p> {
    /// Takes lines over as they are.
    fn keep(&mut self, count: usize) {
        for line in &self.lines[self.at..self.at + count] {
            let body = line.trim_end_matches('\n');
            // A parser knows an empty line of context only without `\r`.
            self.out.push_str(if body == "\r" { " \r" } else { body });
            self.out.push('\n');
        }
        self.at += count;
    }

    fn header(&mut self, line: &'p str) {
        let name = line.get(4..).unwrap_or_default().trim_end();
        if !(line.starts_with("+++ ") && name == "/dev/null") {
            self.file = name.split('\t').next().unwrap_or(name);
        }
        (self.takes_hunks, self.behind, self.longer) = (true, 0, 0);
        self.keep(1);
    }

    fn hunk(&mut self) -> Result<(), ToolError> {
        let line = self.lines[self.at];
        if !self.takes_hunks {
            return Err(self.fault(self.at, &format!("a hunk stands here without its file above it; {FORM}")));
        }
        let wanted = || format!("{} is no head of a hunk; {FORM}", quoted(line));
        let header = Header::parse(line.trim_end()).ok_or_else(|| self.fault(self.at, &wanted()))?;
        if header.start < self.behind {
            let why = format!(
                "this hunk is of line {}, and the one above it goes to line {}; give hunks in order, none over another",
                header.start,
                self.behind - 1
            );
            return Err(self.fault(self.at, &why));
        }
        let said = Counts { old: header.old, new: header.new };
        let (count, found) = match self.body_by_counts(said) {
            Some(count) => (count, said),
            None => self.body()?,
        };
        if found == Counts::default() {
            return Err(self.fault(self.at, "the hunk has no lines"));
        }
        let Header { start, rest, .. } = header;
        // Where it stands afterwards is asked by nobody, but must not lie in the hunk above.
        let after = start.saturating_add_signed(self.longer);
        self.out.push_str(&format!("@@ -{start},{} +{after},{} @@{rest}\n", found.old, found.new));
        // What is added behind a line leaves that line to nobody else.
        self.behind = start + found.old.max(1);
        self.longer += found.new as isize - found.old as isize;
        self.at += 1;
        self.keep(count);
        Ok(())
    }

    /// How many lines behind the head are the hunk's, if its counts are right and something else follows.
    fn body_by_counts(&self, said: Counts) -> Option<usize> {
        let (mut found, mut at) = (Counts::default(), self.at + 1);
        while found != said {
            found = found.with(self.lines.get(at)?)?;
            if found.old > said.old || found.new > said.new {
                return None;
            }
            at += 1;
        }
        while self.lines.get(at).is_some_and(|line| line.starts_with('\\')) {
            at += 1;
        }
        let rest =
            self.lines[at..].iter().position(|line| !is_blank(line)).map_or(self.lines.len(), |n| at + n);
        let goes_on = self.lines.get(rest).is_some_and(|line| Counts::default().with(line).is_some());
        (!goes_on || self.ends_at(rest)).then_some(at - self.at - 1)
    }

    /// How many lines behind the head are the hunk's by what they look like, and what they count.
    fn body(&self) -> Result<(usize, Counts), ToolError> {
        let mut end = self.at + 1;
        while end < self.lines.len() && !self.ends_at(end) {
            if Counts::default().with(self.lines[end]).is_none() {
                let why = format!(
                    "{} stands in a hunk, where every line begins with a space, `-` or `+`",
                    quoted(self.lines[end])
                );
                return Err(self.fault(end, &why));
            }
            end += 1;
        }
        // Whoever miscounts leaves them between hunks.
        while end > self.at + 1 && is_blank(self.lines[end - 1]) {
            end -= 1;
        }
        let body = &self.lines[self.at + 1..end];
        let found = body.iter().try_fold(Counts::default(), |found, line| found.with(line));
        Ok((body.len(), found.unwrap_or_default()))
    }

    /// Whether something other than lines of a hunk begins there.
    fn ends_at(&self, at: usize) -> bool {
        let begins = |at: usize, with: &str| self.lines.get(at).is_some_and(|line| line.starts_with(with));
        let is_signature =
            || self.lines[at].trim_end_matches(['\r', '\n']) == SIGNATURE && !begins(at + 2, "@@");
        ["@@", "diff ", "Index: ", "Only in "].iter().any(|with| begins(at, with))
            || (begins(at, "--- ") && begins(at + 1, "+++ "))
            || is_signature()
    }

    /// Leaves out empty lines that stand before a hunk.
    fn pass_blanks(&mut self) {
        let rest = &self.lines[self.at..];
        let blanks = rest.iter().take_while(|line| is_blank(line)).count();
        match rest.get(blanks) {
            Some(line) if line.starts_with("@@") => self.at += blanks,
            Some(_) | None => {
                self.takes_hunks = false;
                self.keep(blanks);
            }
        }
    }

    fn fault(&self, at: usize, why: &str) -> ToolError {
        let of = if self.file.is_empty() { String::new() } else { format!(" (of {})", self.file) };
        unreadable(format!("line {} of it{of}: {why}", at + 1))
    }
}

impl Counts {
    /// With one more line; nothing if it is none of a hunk.
    fn with(self, line: &str) -> Option<Counts> {
        let Counts { old, new } = self;
        match line.as_bytes().first() {
            Some(b' ' | b'\n') => Some(Counts { old: old + 1, new: new + 1 }),
            Some(b'\r') if is_blank(line) => Some(Counts { old: old + 1, new: new + 1 }),
            Some(b'-') => Some(Counts { old: old + 1, new }),
            Some(b'+') => Some(Counts { old, new: new + 1 }),
            Some(b'\\') => Some(self),
            _ => None,
        }
    }
}

impl<'p> Header<'p> {
    fn parse(line: &'p str) -> Option<Header<'p>> {
        let (ranges, rest) = line.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = ranges.split_once(" +")?;
        let range = |text: &str| {
            let (start, count) = text.split_once(',').unwrap_or((text, "1"));
            // A sum of two cannot be too large then.
            let number = |text: &str| text.parse::<u32>().ok().map(|number| number as usize);
            Some((number(start)?, number(count)?))
        };
        let ((start, old), (_, new)) = (range(old)?, range(new)?);
        Some(Header { start, old, new, rest })
    }
}

fn is_blank(line: &str) -> bool {
    line.trim_end_matches(['\r', '\n']).is_empty()
}

fn quoted(line: &str) -> String {
    let line = line.trim_end();
    let cut: String = line.chars().take(QUOTED_CHARS_MAX).collect();
    let more = if cut.len() < line.len() { "…" } else { "" };
    format!("`{}{more}`", cut.escape_debug())
}

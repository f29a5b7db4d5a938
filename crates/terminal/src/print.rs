//! Printing for people and scripts: results to stdout, remarks to stderr. Colours only where `paint` allows them.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use redact::Redactor;
use sandbox::is_hidden;
use serde::Serialize;

use crate::bar::{self, Step};
use crate::ending::{Ending, Trouble};
use crate::paint::{self, Painted, Style, Words};

/// Set with the first result.
static HAS_PRINTED: AtomicBool = AtomicBool::new(false);

/// True if no result has been printed yet.
pub fn is_silent() -> bool {
    !HAS_PRINTED.load(Ordering::Relaxed)
}

/// Knows what must not be printed, once the configuration has been read.
static REDACTOR: OnceLock<Redactor> = OnceLock::new();

/// Strikes secrets out of whatever is printed from now on.
pub fn without_secrets(redactor: &Redactor) {
    // There is one configuration in the life of a command; the first one learns what comes later.
    let _ = REDACTOR.set(redactor.clone());
}

/// Prints text to stdout with one write, and a line break unless it ends in one: without secrets, and to a terminal
/// without what could drive it.
pub fn line(text: &str) -> io::Result<()> {
    to_stdout(&clean(text))
}

/// Passes on what a program says that was run for this, as it is.
pub fn program(output: &[u8], is_error: bool) -> io::Result<()> {
    match is_error {
        true => io::stderr().write_all(output),
        false => io::stdout().write_all(output).and_then(|()| io::stdout().flush()),
    }
}

/// Prints text that is meant to be secret, such as a key that its owner sees this once.
pub fn secret(text: &str) -> io::Result<()> {
    to_stdout(text)
}

/// Prints a value as JSON, laid out for reading, as [`line()`] does.
pub fn json(value: &impl Serialize) -> io::Result<()> {
    let value = serde_json::to_value(value).expect("what is printed has text for keys");
    json_text(&format!("{value:#}"))
}

/// The same of JSON that is text already, as it stands there: a number may be larger than ours.
pub fn json_text(json: &str) -> io::Result<()> {
    match REDACTOR.get().and_then(|redactor| redactor.json(json.as_bytes())) {
        Some(struck) => to_stdout(&String::from_utf8_lossy(&struck.bytes)),
        None => to_stdout(json),
    }
}

/// Prints text that somebody else wrote, for people: as [`line()`] does, and nothing in it drives a terminal, though it
/// come there only through a pager.
pub fn foreign(text: &str) -> io::Result<()> {
    to_stdout(&harmless(&clean(text)))
}

/// The same with its colours.
pub fn painted(words: &Painted) -> io::Result<()> {
    let text = words.to_string();
    let is_clean = matches!(clean(&text), Cow::Borrowed(_));
    // A secret may reach from one piece into the next, so a text with one is struck out whole, and goes without colours.
    match is_clean && paint::is_on(&io::stdout()) {
        true => write_out(&words.in_colours(harmless)),
        false => foreign(&text),
    }
}

/// Prints what a command has to say, as [`foreign`] does for people, or as JSON for programs.
pub fn found(
    is_json: bool,
    facts: &impl Serialize,
    words: &(impl Words + ?Sized),
) -> Result<Ending, Trouble> {
    if is_json {
        json(facts)?
    } else {
        painted(&words.painted())?
    }
    Ok(Ending::Good)
}

/// The same with a table for people, or a remark if there is nothing in it.
pub fn list(is_json: bool, facts: &impl Serialize, table: &Table, nothing: &str) -> Result<Ending, Trouble> {
    if table.rows.is_empty() && !is_json {
        remark(nothing);
        return Ok(Ending::Good);
    }
    found(is_json, facts, table)
}

/// Says what somebody should know besides, one remark each.
pub fn notes<T: AsRef<str>>(kind: &str, notes: impl IntoIterator<Item = T>) {
    notes.into_iter().for_each(|note| remark(&format!("{kind}: {}", note.as_ref())));
}

fn to_stdout(text: &str) -> io::Result<()> {
    match io::stdout().is_terminal() {
        true => write_out(&harmless(text)),
        false => write_out(text),
    }
}

fn write_out(text: &str) -> io::Result<()> {
    bar::clear();
    let mut out = io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    HAS_PRINTED.store(true, Ordering::Relaxed);
    out.write_all(format!("{text}{end}").as_bytes())?;
    out.flush()
}

/// Says something to the person at the terminal, without secrets and without what could drive it.
pub fn remark(text: &str) {
    let text = clean(text);
    match text.split_once(':').filter(|(kind, _)| *kind == "warning" && paint::is_on(&io::stderr())) {
        Some((kind, what)) => write_err(&format!("{}:{}\n", Style::Wanting.around(kind), harmless(what))),
        None => to_stderr(&text, "\n"),
    }
}

/// Says to the person at the terminal why something was not done; its first line says what.
pub fn error(text: &str) {
    let text = harmless(&clean(text));
    let (what, more) = text.split_at(text.find('\n').unwrap_or(text.len()));
    match paint::is_on(&io::stderr()) {
        true => write_err(&format!("{}{more}\n", Style::Bad.around(what))),
        false => write_err(&format!("{text}\n")),
    }
}

/// As [`remark`] does, for our own words around what the configuration says in the open: known secrets are struck out, but
/// nothing that only looks like one, since what searches for that would stay in memory for as long as we serve.
pub fn banner(text: &str) {
    let struck = REDACTOR.get().and_then(|redactor| redactor.bytes(text.as_bytes()));
    match struck {
        Some((struck, _)) => to_stderr(&String::from_utf8_lossy(&struck), "\n"),
        None => to_stderr(text, "\n"),
    }
}

/// Shows the person at the terminal how far something has come, in the place of what was shown of that before.
pub fn progress(step: &Step<'_>) {
    let message = step.message.map(|message| harmless(&clean(message)));
    bar::draw(&Step { message: message.as_deref(), ..*step });
}

/// Asks the person at the terminal, who answers behind it; otherwise as [`remark`].
pub fn question(text: &str) {
    to_stderr(&clean(text), " ");
}

/// Rings the bell of the terminal.
pub fn bell() {
    let _ = io::stderr().write_all(b"\x07");
}

fn to_stderr(text: &str, end: &str) {
    write_err(&format!("{}{end}", harmless(text)));
}

fn write_err(text: &str) {
    bar::clear();
    // With stderr gone there is nobody to tell or ask, and the answers will end.
    let _ = io::stderr().write_all(text.as_bytes());
}

fn clean(text: &str) -> Cow<'_, str> {
    REDACTOR.get().map_or(Cow::Borrowed(text), |redactor| redactor.text(text))
}

/// The text with what drives a terminal, and what cannot be seen, made visible: it cannot move the cursor, change a title
/// or read otherwise than it is written.
pub fn harmless(text: &str) -> String {
    let shown = |c: char| if is_hidden(c) && !matches!(c, '\n' | '\t' | '\u{fe0f}') { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}

/// So many of a thing: "1 rule", "2 rules".
pub fn counted(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// What stands between two columns, in blanks.
const GAP_CHARS: usize = 2;

/// Rows in columns, each as wide as its widest cell; the last one runs free.
pub struct Table {
    titles: Vec<String>,
    rows: Vec<Vec<String>>,
    /// The column that says how something is doing.
    states: Option<usize>,
}

impl Table {
    /// Rows below their titles.
    pub fn titled<const N: usize>(titles: [&str; N], rows: impl IntoIterator<Item = Vec<String>>) -> Table {
        Table { titles: titles.map(str::to_owned).to_vec(), ..Table::plain(rows) }
    }

    /// Rows without titles.
    pub fn plain(rows: impl IntoIterator<Item = Vec<String>>) -> Table {
        Table { titles: Vec::new(), rows: rows.into_iter().collect(), states: None }
    }

    /// The same; this column says how something is doing.
    pub fn with_states_in(self, column: usize) -> Table {
        Table { states: Some(column), ..self }
    }
}

impl Words for Table {
    fn painted(&self) -> Painted {
        let titles = Some(&self.titles).filter(|titles| !titles.is_empty());
        let rows = || titles.into_iter().chain(&self.rows);
        let columns = rows().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            rows().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let style = |is_title: bool, column: usize, cell: &str| match is_title {
            true => Style::Title,
            false if self.states == Some(column) => Style::of_state(cell),
            false => Style::Plain,
        };
        let mut painted = Painted::default();
        for (at, row) in rows().enumerate() {
            let is_title = at == 0 && titles.is_some();
            let mut line = Painted::default();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let blanks = " ".repeat(width - cell.chars().count() + GAP_CHARS);
                line = line.and(Painted::of(style(is_title, column, cell), cell)).and(blanks.painted());
            }
            let end = if at == 0 { "" } else { "\n" };
            painted = painted.and(end.painted()).and(line.trimmed());
        }
        painted
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.painted().fmt(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_they_must() {
        let rows = [["a", "bb", "c"], ["äää", "b", ""]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(Table::plain(rows.clone()).to_string(), "a    bb  c\näää  b");
        assert_eq!(Table::titled(["A", "B", "C"], rows).to_string(), "A    B   C\na    bb  c\näää  b");
        assert_eq!(Table::plain([]).to_string(), "");
    }

    #[test]
    fn a_terminal_is_not_driven_by_others() {
        assert_eq!(harmless("a\tb\n\u{1b}[31mred\u{9b}1m\r"), "a\tb\n\u{fffd}[31mred\u{fffd}1m\u{fffd}");
        assert_eq!(harmless("a\u{202e}b\u{200b}c"), "a\u{fffd}b\u{fffd}c");
    }
}

//! Printing for people and scripts: results to stdout, remarks to stderr. No colours anywhere.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use redact::Redactor;
use sandbox::is_hidden;
use serde_json::Value;

use crate::ending::{Ending, Trouble};

/// Set with the first result.
static HAS_PRINTED: AtomicBool = AtomicBool::new(false);

/// True if no result has been printed yet.
pub(crate) fn is_silent() -> bool {
    !HAS_PRINTED.load(Ordering::Relaxed)
}

/// Knows what must not be printed, once the configuration has been read.
static REDACTOR: OnceLock<Redactor> = OnceLock::new();

/// Strikes secrets out of whatever is printed from now on.
pub(crate) fn without_secrets(redactor: &Redactor) {
    // There is one configuration in the life of a command; the first one learns what comes later.
    let _ = REDACTOR.set(redactor.clone());
}

/// Prints text to stdout with one write, and a line break unless it ends in one: without secrets, and to a terminal
/// without what could drive it.
pub(crate) fn line(text: &str) -> io::Result<()> {
    to_stdout(&clean(text))
}

/// Prints text that is meant to be secret, such as a key that its owner sees this once.
pub(crate) fn secret(text: &str) -> io::Result<()> {
    to_stdout(text)
}

/// Prints a JSON value, laid out for reading, as [`line()`] does.
pub(crate) fn json(value: &Value) -> io::Result<()> {
    let json = format!("{value:#}");
    match REDACTOR.get().and_then(|redactor| redactor.json(json.as_bytes())) {
        Some(struck) => to_stdout(&String::from_utf8_lossy(&struck.bytes)),
        None => to_stdout(&json),
    }
}

/// Prints text that somebody else wrote, for people: as [`line()`] does, and nothing in it drives a terminal, though it
/// come there only through a pager.
pub(crate) fn foreign(text: &str) -> io::Result<()> {
    to_stdout(&harmless(&clean(text)))
}

/// Prints what a command has to say, as [`foreign`] does for people, or as JSON for programs.
pub(crate) fn found(is_json: bool, facts: &Value, words: &str) -> Result<Ending, Trouble> {
    if is_json {
        json(facts)?
    } else {
        foreign(words)?
    }
    Ok(Ending::Good)
}

/// The same with a table for people, or a remark if there is nothing in it.
pub(crate) fn list<const N: usize>(
    is_json: bool,
    facts: &Value,
    titles: [&str; N],
    rows: &[Vec<String>],
    nothing: &str,
) -> Result<Ending, Trouble> {
    if rows.is_empty() && !is_json {
        remark(nothing);
        return Ok(Ending::Good);
    }
    found(is_json, facts, &titled(titles, rows.iter().cloned()))
}

/// Says what somebody should know besides, one remark each.
pub(crate) fn notes<T: AsRef<str>>(kind: &str, notes: impl IntoIterator<Item = T>) {
    notes.into_iter().for_each(|note| remark(&format!("{kind}: {}", note.as_ref())));
}

fn to_stdout(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let text = if out.is_terminal() { harmless(text).into() } else { Cow::Borrowed(text) };
    HAS_PRINTED.store(true, Ordering::Relaxed);
    out.write_all(format!("{text}{end}").as_bytes())?;
    out.flush()
}

/// Says something to the person at the terminal, without secrets and without what could drive it.
pub(crate) fn remark(text: &str) {
    to_stderr(&clean(text), "\n");
}

/// As [`remark`] does, for our own words around what the configuration says in the open: known secrets are struck out, but
/// nothing that only looks like one, since what searches for that would stay in memory for as long as we serve.
pub(crate) fn banner(text: &str) {
    let struck = REDACTOR.get().and_then(|redactor| redactor.bytes(text.as_bytes()));
    match struck {
        Some((struck, _)) => to_stderr(&String::from_utf8_lossy(&struck), "\n"),
        None => to_stderr(text, "\n"),
    }
}

/// Asks the person at the terminal, who answers behind it; otherwise as [`remark`].
pub(crate) fn question(text: &str) {
    to_stderr(&clean(text), " ");
}

fn to_stderr(text: &str, end: &str) {
    // With stderr gone there is nobody to tell or ask, and the answers will end.
    let _ = io::stderr().write_all(format!("{}{end}", harmless(text)).as_bytes());
}

fn clean(text: &str) -> Cow<'_, str> {
    REDACTOR.get().map_or(Cow::Borrowed(text), |redactor| redactor.text(text))
}

/// The text with what drives a terminal, and what cannot be seen, made visible: it cannot move the cursor, change a title
/// or read otherwise than it is written.
pub(crate) fn harmless(text: &str) -> String {
    let shown = |c: char| if is_hidden(c) && !matches!(c, '\n' | '\t' | '\u{fe0f}') { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}

/// So many of a thing: "1 rule", "2 rules".
pub(crate) fn counted(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// A table of rows below their titles.
pub(crate) fn titled<const N: usize>(
    titles: [&str; N],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let titles = titles.map(str::to_owned).to_vec();
    table(&std::iter::once(titles).chain(rows).collect::<Vec<_>>())
}

/// Rows in columns, each as wide as its widest cell; the last one runs free.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_they_must() {
        let rows = [["a", "bb", "c"], ["äää", "b", ""]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows), "a    bb  c\näää  b");
        assert_eq!(table(&[]), "");
    }

    #[test]
    fn a_terminal_is_not_driven_by_others() {
        assert_eq!(harmless("a\tb\n\u{1b}[31mred\u{9b}1m\r"), "a\tb\n\u{fffd}[31mred\u{fffd}1m\u{fffd}");
        assert_eq!(harmless("a\u{202e}b\u{200b}c"), "a\u{fffd}b\u{fffd}c");
    }
}

//! Printing for people and scripts: results to stdout, remarks to stderr. No colours anywhere.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

/// Set with the first result.
static HAS_PRINTED: AtomicBool = AtomicBool::new(false);

/// True if no result has been printed yet.
pub(crate) fn is_silent() -> bool {
    !HAS_PRINTED.load(Ordering::Relaxed)
}

/// Prints text to stdout with one write, and a line break unless it ends in one.
pub(crate) fn line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    HAS_PRINTED.store(true, Ordering::Relaxed);
    out.write_all(format!("{text}{end}").as_bytes())?;
    out.flush()
}

/// Prints a JSON value, laid out for reading.
pub(crate) fn json(value: &Value) -> io::Result<()> {
    line(&format!("{value:#}"))
}

/// Prints text that somebody else wrote: to a terminal without what could drive it, to anything else as it is.
pub(crate) fn foreign(text: &str) -> io::Result<()> {
    if io::stdout().is_terminal() { line(&harmless(text)) } else { line(text) }
}

/// Says something to the person at the terminal.
pub(crate) fn remark(text: &str) {
    // With stderr gone there is nobody to tell.
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// Asks the person at the terminal, who answers behind it.
pub(crate) fn question(text: &str) {
    // With stderr gone there is nobody to ask, and the answers will end.
    let _ = io::stderr().write_all(format!("{text} ").as_bytes());
}

/// The text with its control characters made visible, so that it cannot move the cursor or change a title.
pub(crate) fn harmless(text: &str) -> String {
    let shown = |c: char| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
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
    }
}

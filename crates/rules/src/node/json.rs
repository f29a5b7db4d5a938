//! JSON, strictly: what other readers of the file would refuse is refused here, too.

use regex::{Captures, Regex};

use super::tree::{Fault, Place};

/// An escape; in its group a character as two halves.
const ESCAPE: &str = r"\\(?:u((?i)d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|.)";

/// A JSON text as YAML, which all of JSON is but for characters that are escaped as two halves.
///
/// # Errors
/// It is no JSON.
pub(super) fn as_yaml(text: &str) -> Result<String, Fault> {
    if text.trim().is_empty() {
        let what = "the file is empty; delete it, or write {\"version\": \"1.0\", \"rules\": []}".to_owned();
        return Err(Fault { place: Place { line: 1, column: 1 }, what });
    }
    // Its grammar is the strict one, and it bounds the depth; the reader of YAML knows the places.
    serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(|error| {
        let (line, byte) = (error.line().max(1), error.column());
        let written = text.lines().nth(line - 1).unwrap_or_default();
        let column = written.get(..byte.saturating_sub(1)).map_or(byte, |before| before.chars().count() + 1);
        let what = error.to_string();
        let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what).to_owned();
        Fault { place: Place { line, column: column.max(1) }, what }
    })?;
    let escape = Regex::new(ESCAPE).expect("a test compiles it");
    let text = escape.replace_all(text, |found: &Captures<'_>| {
        let whole = found[0].to_owned();
        let character = found.get(1).and_then(|_| serde_json::from_str(&format!("\"{whole}\"")).ok());
        character.unwrap_or(whole)
    });
    // They stand between values only, where YAML has other rules for them.
    Ok(text.replace('\t', " "))
}

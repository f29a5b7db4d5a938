//! A text that is no TOML, for the person who wrote it: what they most likely did, and the line with a mark below the
//! place. A line in which a secret may stand is not shown.

use std::ops::Range;

use sandbox::text_file::line_and_column;
use toml::de::Error;

use crate::problem::Problem;
use crate::tree::Place;

/// Longest line that is shown, in characters.
const LINE_CHARS_MAX: usize = 120;

/// Longest word that is repeated, in characters.
const WORD_CHARS_MAX: usize = 60;

/// How the parser calls a key or a table that stands twice.
const DUPLICATE: &str = "duplicate key";

/// Parts of a line, or of the table's name above it, beside which secrets stand.
const SECRET_PLACES: [&str; 8] =
    ["env", "headers", "token", "key", "secret", "password", "oauth", "credential"];

/// What is wrong with a text that does not parse. What follows from a first fault is not told beside it.
pub(crate) fn problems(file: usize, text: &str, errors: &[Error]) -> Vec<Problem> {
    if text.trim_start().starts_with('{') {
        let place = Place { file, byte: text.len() - text.trim_start().len() };
        let hint = "`toolcrib mcp import FILE` takes over the servers of a client's JSON file";
        let problem = Problem::at(place, "this is JSON, and the configuration is TOML");
        return vec![problem.with_hint(hint)];
    }
    let mut has_duplicate = false;
    let is_first = |error: &&Error| {
        let is_duplicate = error.message() == DUPLICATE;
        !(is_duplicate && std::mem::replace(&mut has_duplicate, true))
    };
    errors.iter().filter(is_first).map(|error| problem(file, text, error)).collect()
}

fn problem(file: usize, text: &str, error: &Error) -> Problem {
    let byte = error.span().map_or(0, |span| span.start).min(text.len());
    let line = line_around(text, byte);
    let is_shown = !may_be_secret(text, line.clone());
    let word = word_around(text, byte);
    let (start, what, hint) = match word {
        _ if error.message() == DUPLICATE => (byte, duplicate(text, line.clone(), byte), None),
        Some(word) => {
            let written = &text[word.clone()];
            let (no_value, example) = match is_shown && written.len() <= WORD_CHARS_MAX {
                true => (format!("`{written}` is no value"), format!("\"{written}\"")),
                false => ("the value is none".to_owned(), "\"…\"".to_owned()),
            };
            (word.start, no_value, Some(format!("a text stands in double quotes: {example}")))
        }
        None if is_json_member(&text[line.clone()]) => {
            let hint = "a key is followed by `=` and stands in the table of its server: [mcp.NAME]";
            (byte, "this line is JSON".to_owned(), Some(hint.to_owned()))
        }
        None => (byte, error.message().to_owned(), None),
    };
    let mut problem = Problem::at(Place { file, byte: start }, format!("this is no TOML: {what}"));
    problem.hint = hint;
    problem.excerpt = is_shown.then(|| excerpt(text, line, start)).flatten();
    problem
}

/// A table or a key that stands twice, and where the first one is.
fn duplicate(text: &str, line: Range<usize>, byte: usize) -> String {
    let header = text[line.clone()].trim();
    if !header.starts_with('[') {
        let key = text[byte..line.end].split(['=', '.', ' ']).next().unwrap_or_default();
        return format!("the key `{key}` stands twice in its table");
    }
    let first = text[..line.start].lines().position(|earlier| earlier.trim() == header);
    let first = first.map(|nth| format!(", first in line {}", nth + 1)).unwrap_or_default();
    format!("the table `{header}` stands twice{first}")
}

fn line_around(text: &str, byte: usize) -> Range<usize> {
    let start = text[..byte].rfind('\n').map_or(0, |before| before + 1);
    let end = text[byte..].find('\n').map_or(text.len(), |after| byte + after);
    start..end
}

/// The word around a place in which a value without quotes stands.
fn word_around(text: &str, byte: usize) -> Option<Range<usize>> {
    let line = line_around(text, byte);
    let ends = |c: char| c.is_whitespace() || "=[]{},\"'#".contains(c);
    let start = text[line.start..byte].rfind(ends).map_or(line.start, |before| line.start + before + 1);
    let length = text[start..line.end].find(ends).unwrap_or(line.end - start);
    let is_value = text[line.start..start].trim_end().ends_with(['=', '[', ',']);
    let is_header = text[line.clone()].trim_start().starts_with('[');
    (length > 0 && is_value && !is_header).then_some(start..start + length)
}

/// True for `"key": …`.
fn is_json_member(line: &str) -> bool {
    let key = line.trim_start().strip_prefix('"').and_then(|rest| rest.split_once('"'));
    key.is_some_and(|(_, rest)| rest.trim_start().starts_with(':'))
}

fn may_be_secret(text: &str, line: Range<usize>) -> bool {
    let header = text[..line.start].lines().rev().find(|line| line.trim_start().starts_with('['));
    let names = [header.unwrap_or_default(), &text[line]];
    names.iter().any(|name| SECRET_PLACES.iter().any(|place| name.to_lowercase().contains(place)))
}

/// The line with its number, and a mark below the place.
fn excerpt(text: &str, line: Range<usize>, byte: usize) -> Option<String> {
    let shown = text[line].replace('\t', " ");
    let (number, column) = line_and_column(text, byte);
    let margin = " ".repeat(number.to_string().len());
    let mark = " ".repeat(column - 1);
    (shown.chars().count() <= LINE_CHARS_MAX)
        .then(|| format!("  {number} | {}\n  {margin} | {mark}^", shown.trim_end()))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use toml::de::DeTable;

    use super::*;
    use crate::problem::{Problems, Source};

    #[track_caller]
    fn check(text: &str, expected: Expect) {
        let source = Source { path: "a.toml".into(), text: text.to_owned(), is_projects: false };
        let (_, errors) = DeTable::parse_recoverable(text);
        expected.assert_eq(&Problems::new(&[source], problems(0, text, &errors)).to_string());
    }

    #[test]
    fn the_likely_cause_is_told_with_the_line() {
        check(
            "[mcp.x]\ncommand = npx # it\n",
            expect![[r#"
                a.toml:2:11: this is no TOML: `npx` is no value; a text stands in double quotes: "npx"
                  2 | command = npx # it
                    |           ^"#]],
        );
        check(
            "[mcp.x]\nargs = [\"a\", b]\n",
            expect![[r#"
                a.toml:2:14: this is no TOML: `b` is no value; a text stands in double quotes: "b"
                  2 | args = ["a", b]
                    |              ^"#]],
        );
        check(
            "[server]\nbind = 127.0.0.1:3000",
            expect![[r#"
                a.toml:2:8: this is no TOML: `127.0.0.1:3000` is no value; a text stands in double quotes: "127.0.0.1:3000"
                  2 | bind = 127.0.0.1:3000
                    |        ^"#]],
        );
        check(
            "[server]\nbind = 'x\n",
            expect![[r#"
                a.toml:2:10: this is no TOML: invalid literal string, expected `'`
                  2 | bind = 'x
                    |          ^"#]],
        );
        check(
            "\n{\"mcpServers\": {\"x\": {\"command\": \"npx\"}}}",
            expect![
                "a.toml:2:1: this is JSON, and the configuration is TOML; `toolcrib mcp import FILE` takes over the servers of a client's JSON file"
            ],
        );
        check(
            "[mcp.x]\n  \"command\": \"npx\",\n",
            expect![[r#"
                a.toml:2:12: this is no TOML: this line is JSON; a key is followed by `=` and stands in the table of its server: [mcp.NAME]
                  2 |   "command": "npx",
                    |            ^"#]],
        );
        check(
            "[mcp.x]\ncommand = \"a\"\n[mcp.x]\ncommand = \"b\"\n",
            expect![[r#"
                a.toml:3:6: this is no TOML: the table `[mcp.x]` stands twice, first in line 1
                  3 | [mcp.x]
                    |      ^"#]],
        );
        check(
            "a = 1\na = 2\n",
            expect![[r#"
                a.toml:2:1: this is no TOML: the key `a` stands twice in its table
                  2 | a = 2
                    | ^"#]],
        );
    }

    #[test]
    fn a_line_that_may_hold_a_secret_is_not_shown() {
        for text in [
            "[mcp.x]\nenv = { A = s3cret }\n",
            "[mcp.x.env]\nA = s3cret\n",
            "[mcp.x]\napi_key = s3cret\n",
            "[mcp.x.headers]\nAuthorization = Bearer s3cret\n",
        ] {
            let (_, errors) = DeTable::parse_recoverable(text);
            let told = format!("{:?}", problems(0, text, &errors));
            assert!(!told.contains("s3cret") && told.contains("double quotes"), "{told}");
        }
    }
}

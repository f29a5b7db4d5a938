//! Words that say a thing is unfinished. What is not built is absent, and its plan is not kept in the sources.
//!
//! The words are put together from pieces, so that this file does not break its own rule.

use super::tree::{Finding, Tree};

/// Written by people, so these are read as sources or pages.
const KINDS: &[&str] = &[".rs", ".md", ".mjs", ".js", ".ts", ".py", ".toml", ".sh"];

/// Each in small letters, and found in any.
const PHRASES: &[[&str; 2]] = &[["for ", "now"], ["not yet ", "implemented"], ["simulated ", "result"]];

/// Found only in capitals, as words of their own.
const MARKS: &[[&str; 2]] = &[["FIX", "ME"], ["XX", "X"], ["TO", "DO"]];

pub(super) fn look(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_read = |path: &str| KINDS.iter().any(|kind| path.ends_with(kind)) && !path.contains("/fixtures/");
    for file in tree.files.iter().filter(|file| is_read(&file.path)) {
        for (number, line) in file.lines() {
            if let Some(word) = unfinished(line) {
                findings.push(file.at(number, format!("`{word}`: finish it, or take it out")));
            }
        }
    }
    findings
}

/// The first such word of a line.
fn unfinished(line: &str) -> Option<String> {
    let small = line.to_lowercase();
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let alone = |text: &str, word: &str| {
        text.match_indices(word).any(|(start, _)| {
            let bytes = text.as_bytes();
            let begins = is_word(word.as_bytes().first())
                && is_word(start.checked_sub(1).and_then(|it| bytes.get(it)));
            let goes_on = is_word(word.as_bytes().last()) && is_word(bytes.get(start + word.len()));
            !begins && !goes_on
        })
    };
    let phrase = PHRASES.iter().map(|pieces| pieces.concat()).find(|word| alone(&small, word));
    phrase.or_else(|| MARKS.iter().map(|pieces| pieces.concat()).find(|word| alone(line, word)))
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    #[test]
    fn every_word_is_found() {
        for pieces in PHRASES.iter().chain(MARKS) {
            let text = format!("a\nb {}: c)\n", pieces.concat());
            let expected = format!("a.rs:2: `{}`: finish it, or take it out", pieces.concat());
            assert_eq!(found(look, &[("a.rs", &text)]), [expected]);
            assert!(found(look, &[("a/fixtures/a.rs", &text), ("a.lock", &text)]).is_empty());
        }
        assert_eq!(found(look, &[("a.md", &["Enough F", "or now."].concat())]).len(), 1);
    }

    #[test]
    fn a_word_within_another_is_not_found() {
        let text = ["before nowadays, mkstemp(\"aX", "XXXXX\"), a todo list"].concat();
        assert!(found(look, &[("a.rs", &text), ("b.rs", "wait for nowhere")]).is_empty());
    }
}

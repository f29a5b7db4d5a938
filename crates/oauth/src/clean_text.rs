//! What a server says, made fit for one of our sentences.

use sandbox::is_hidden;

/// Enough for a sentence; what is longer is cut.
const WORDS_CHARS_MAX: usize = 200;

/// `text` on one line, without control characters and without what changes the direction of text, and not longer
/// than 200 characters.
pub(crate) fn cleaned(text: &str) -> String {
    let visible: String = text
        .chars()
        .map(|character| if is_hidden(character) { ' ' } else { character })
        .take(WORDS_CHARS_MAX * 2)
        .collect();
    let line = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(WORDS_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::cleaned;

    #[test]
    fn one_line_without_tricks() {
        for (said, shown) in [
            ("no such client", "no such client"),
            ("a\r\n\tb  c\u{1b}[31m", "a b c [31m"),
            ("ab\u{202e}dc", "ab dc"),
            ("", ""),
        ] {
            assert_eq!(cleaned(said), shown);
        }
        assert_eq!(cleaned(&"é".repeat(10_000)), format!("{}…", "é".repeat(200)));
    }
}

//! Other people's words made fit for a message of ours: one line, no control characters, bounded.

use sandbox::is_hidden;

/// `text` on one line and at most about `bytes_max` bytes long; what is cut off leaves an ellipsis.
pub(crate) fn sentence(text: &str, bytes_max: usize) -> String {
    let shown = |character| if is_hidden(character) { ' ' } else { character };
    cut(text.trim().chars().map(shown), bytes_max)
}

/// `text` with its lines, at most about `bytes_max` bytes long; what is cut off leaves an ellipsis.
pub(crate) fn lines(text: &str, bytes_max: usize) -> String {
    cut(text.trim().chars().filter(|&character| is_layout(character) || !is_hidden(character)), bytes_max)
}

fn cut(text: impl Iterator<Item = char>, bytes_max: usize) -> String {
    let mut clean = String::new();
    for character in text {
        if clean.len() + character.len_utf8() > bytes_max {
            clean.push('…');
            break;
        }
        clean.push(character);
    }
    clean
}

fn is_layout(character: char) -> bool {
    matches!(character, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, bytes_max: usize, expected: &str) {
        assert_eq!(sentence(text, bytes_max), expected);
    }

    #[test]
    fn nothing_hidden_is_left() {
        check("  plain  ", 100, "plain");
        check("a\u{1b}[31mred\r\nb\0", 100, "a [31mred  b ");
        check("a\u{202e}cod.exe\u{9b}x", 100, "a cod.exe x");
    }

    #[test]
    fn lines_stay_and_nothing_else_that_is_hidden() {
        assert_eq!(lines("\n# Use\r\n\tit \u{1b}[1mwell\u{202e}\0\n", 100), "# Use\n\tit [1mwell");
        assert_eq!(lines("a\näää", 5), "a\nä…");
    }

    #[test]
    fn what_is_too_long_is_cut_between_characters() {
        check("abcdef", 6, "abcdef");
        check("abcdefg", 6, "abcdef…");
        check("ääää", 5, "ää…");
    }
}

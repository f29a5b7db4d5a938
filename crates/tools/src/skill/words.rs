//! What a skill is called with, word by word, for the places `$0`, `$1` and `$ARGUMENTS[0]` of its text, which count from 0 as Claude
//! Code counts them. Nothing is run or looked up: only blanks, quotes and backslashes mean something.

/// What stands before a number in brackets.
const LISTED: &str = "$ARGUMENTS[";

/// What a backslash keeps its meaning before, within double quotes (POSIX shell, 2.2.3).
const ESCAPED_IN_QUOTES: [char; 4] = ['"', '\\', '$', '`'];

/// The words, split as a shell would; all of it as one where a quote does not end.
pub(super) fn words(arguments: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = arguments.chars().peekable();
    while let Some(char) = chars.next() {
        let is_escape = match quote {
            None => char == '\\',
            Some('"') => char == '\\' && chars.peek().is_some_and(|next| ESCAPED_IN_QUOTES.contains(next)),
            Some(_) => false,
        };
        let literal = match (quote, char) {
            _ if is_escape => chars.next().unwrap_or(char),
            (Some(open), char) if char == open => {
                quote = None;
                continue;
            }
            (None, '"' | '\'') => {
                quote = Some(char);
                // An empty word is one, too.
                word.get_or_insert_default();
                continue;
            }
            (None, char) if char.is_whitespace() => {
                words.extend(word.take());
                continue;
            }
            (_, char) => char,
        };
        word.get_or_insert_default().push(literal);
    }
    if quote.is_some() {
        return vec![arguments.trim().to_owned()];
    }
    words.extend(word);
    words
}

/// The number of the word whose place a text begins with, and what follows; nothing if it begins with none. A price such as `$5.00`
/// is one as well: whether there is such a word is for the caller to see.
pub(super) fn place(text: &str) -> Option<(usize, &str)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    if let Some(listed) = text.strip_prefix(LISTED) {
        let (number, after) = listed.split_at(digits(listed));
        return Some((number.parse().ok()?, after.strip_prefix(']')?));
    }
    let bare = text.strip_prefix('$')?;
    let (number, after) = bare.split_at(digits(bare));
    Some((number.parse().ok()?, after)).filter(|_| is_whole(after))
}

/// Whether no name goes on here.
pub(super) fn is_whole(after: &str) -> bool {
    !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_would() {
        for (arguments, expected) in [
            ("", &[][..]),
            ("  a\tb \n", &["a", "b"]),
            (r#"one 'two words' "three \" q""#, &["one", "two words", r#"three " q"#]),
            (r"a\ b c\", &["a b", r"c\"]),
            (r#"'a\b' "a\b" ''"#, &[r"a\b", r"a\b", ""]),
            ("a'b'\"c\"", &["abc"]),
            // A shell would take the rest for a remark, a value or a second command.
            ("fix #12 $HOME `id`; $(id) *", &["fix", "#12", "$HOME", "`id`;", "$(id)", "*"]),
            (" it's broken ", &["it's broken"]),
        ] {
            assert_eq!(words(arguments), expected, "{arguments}");
        }
    }

    #[test]
    fn places_are_numbers_of_words() {
        for (text, expected) in [
            ("$0", Some((0, ""))),
            ("$10 each", Some((10, " each"))),
            ("$5.00", Some((5, ".00"))),
            ("$ARGUMENTS[12]x", Some((12, "x"))),
            ("$1st", None),
            ("$99999999999999999999", None),
            ("$", None),
            ("${1}", None),
            ("$ARGUMENTS[]", None),
            ("$ARGUMENTS[1", None),
            ("$ARGUMENTS", None),
        ] {
            assert_eq!(place(text), expected, "{text}");
        }
    }
}

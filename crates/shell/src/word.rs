//! `Word`: a word of a command as bash hands it over, if that is written in the text.

use tree_sitter::Node;

/// A word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Word {
    Known(String),
    /// It becomes something else while it runs: another word, several, or none.
    Unknown,
}

/// What makes another word of one, where it is not quoted.
const LIVE: [char; 9] = ['*', '?', '[', ']', '{', '}', '~', '$', '`'];

/// What may stand behind a backslash between double quotes and be meant by itself.
const ESCAPED_IN_QUOTES: [char; 4] = ['$', '`', '"', '\\'];

/// Where programs put names of files.
pub(crate) const PLACEHOLDER: &str = "{}";

impl Word {
    pub(crate) fn known(&self) -> Option<&str> {
        match self {
            Word::Known(word) => Some(word),
            Word::Unknown => None,
        }
    }
}

/// The word of a node.
pub(crate) fn word(node: Node<'_>, text: &str) -> Word {
    written(node, text).map_or(Word::Unknown, Word::Known)
}

fn written(node: Node<'_>, text: &str) -> Option<String> {
    let own = text.get(node.byte_range())?;
    match node.kind() {
        "word" | "number" | "variable_name" => plain(own),
        "raw_string" => Some(own.strip_prefix('\'')?.strip_suffix('\'')?.to_owned()),
        "string" => quoted(own.strip_prefix('"')?.strip_suffix('"')?),
        // Bash makes nothing else of it.
        "concatenation" if own == PLACEHOLDER => Some(own.to_owned()),
        "concatenation" | "command_name" => {
            let (mut whole, mut at) = (String::new(), node.start_byte());
            for nth in 0..u32::try_from(node.child_count()).ok()? {
                let part = node.child(nth)?;
                if part.start_byte() != at {
                    return None;
                }
                at = part.end_byte();
                whole += &written(part, text)?;
            }
            (at == node.end_byte()).then_some(whole)
        }
        _ => None,
    }
}

fn plain(text: &str) -> Option<String> {
    let (mut whole, mut rest) = (String::new(), text.chars());
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next()? {
                '\n' => {}
                escaped => whole.push(escaped),
            },
            c if LIVE.contains(&c) => return None,
            c => whole.push(c),
        }
    }
    Some(whole)
}

fn quoted(text: &str) -> Option<String> {
    let (mut whole, mut rest) = (String::new(), text.chars());
    while let Some(c) = rest.next() {
        match c {
            '$' | '`' => return None,
            '\\' => match rest.next()? {
                '\n' => {}
                escaped if ESCAPED_IN_QUOTES.contains(&escaped) => whole.push(escaped),
                other => whole.extend(['\\', other]),
            },
            c => whole.push(c),
        }
    }
    Some(whole)
}

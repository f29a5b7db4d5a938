//! The shapes of what the protocol itself says in its objects: words, times and names that a message cannot do without.
//! Whatever else stands in their places is content.

use crate::encoded;
use crate::token::Kind;
use crate::vocabulary::Holds;

/// Longest identifier that is left, in bytes. In longer ones there is room for a file.
const IDENTIFIER_BYTES_MAX: usize = 128;

/// Longest time, in bytes.
const TIME_BYTES_MAX: usize = 40;

/// What the text of one of the protocol's members is, which holds this.
pub(crate) fn kind_of(holds: Option<Holds>, text: &str) -> Kind {
    let is_formed = match holds {
        Some(Holds::Words(words)) if words.contains(&text) => return Kind::Word,
        Some(Holds::MediaType) => encoded::is_media_type(text),
        Some(Holds::Time) => is_time(text),
        Some(Holds::Identifier) => is_identifier(text),
        Some(Holds::Words(_) | Holds::Foreign | Holds::Other) | None => false,
    };
    if is_formed { Kind::Coded } else { Kind::Text }
}

/// True for what may be a time after RFC 3339.
fn is_time(text: &str) -> bool {
    text.len() <= TIME_BYTES_MAX
        && text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || b"-:.+TZtz ".contains(&byte))
}

fn is_identifier(text: &str) -> bool {
    text.len() <= IDENTIFIER_BYTES_MAX
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:/+=~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_shaped_so_is_content() {
        let vocabulary = crate::vocabulary::sample();
        let kind_of = |member: &str, text: &str| super::kind_of(vocabulary.holds(member), text);
        for (member, text, expected) in [
            ("status", "completed", Kind::Word),
            ("status", "the key is 5", Kind::Text),
            ("resultType", "task", Kind::Word),
            ("text", "task", Kind::Text),
            ("createdAt", "2026-11-22T06:10:00.5+01:00", Kind::Coded),
            ("createdAt", "6 o'clock", Kind::Text),
            ("taskId", "786512e2-9e0d-44bd-8f29-789f320fe840", Kind::Coded),
            ("taskId", "all of a file", Kind::Text),
            ("mimeType", "text/plain; charset=utf-8", Kind::Coded),
            ("mimeType", "text", Kind::Text),
        ] {
            assert_eq!(kind_of(member, text), expected, "{member} {text}");
        }
        assert_eq!(kind_of("taskId", &"x".repeat(IDENTIFIER_BYTES_MAX + 1)), Kind::Text);
    }
}

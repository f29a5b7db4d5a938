//! The protocol's words in a JSON text. A name of a member, or a value of a member that has such words, is no secret if it is
//! one of them as a whole, whatever else is called so: without it nobody could read the message that it is in.

use crate::vocabulary::{Holds, Vocabulary};

/// Kinds of media, which are what a MIME type begins with.
const MEDIA: &str = "application/ audio/ font/ image/ message/ model/ multipart/ text/ video/";

/// What common types go on with; none of them is a secret.
const SUBTYPES: &str = "\
    css csv event-stream form-data gif gzip html javascript jpeg json ld+json markdown mpeg octet-stream \
    ogg pdf plain png svg+xml wav webm webp x-www-form-urlencoded xml yaml zip";

/// Longest MIME type without parameters, in bytes; longer ones have room for a secret.
const MIME_BYTES_MAX: usize = 40;

/// From this length on a known value goes out of a type that is not common, in bytes; shorter ones may be a part of it
/// by chance.
const IN_MIME_BYTES_MIN: usize = 8;

/// How long a known value must be to be struck out of this name of a member, in bytes.
pub(super) fn least_in_name(vocabulary: &Vocabulary, name: &[u8]) -> usize {
    if vocabulary.holds(name).is_some() { usize::MAX } else { 0 }
}

/// The same for the value of a member of this name, or for one in a list.
pub(super) fn least_in_value(vocabulary: &Vocabulary, name: Option<&[u8]>, value: &[u8]) -> usize {
    let Some(name) = name else {
        return if vocabulary.is_word_of_any(value) { usize::MAX } else { 0 };
    };
    match vocabulary.holds(name) {
        Some(Holds::Words(words)) if words.iter().any(|word| word.as_bytes() == value) => usize::MAX,
        Some(Holds::MediaType) => least_in_mime(value),
        Some(Holds::Words(_) | Holds::Bytes | Holds::Other) | None => 0,
    }
}

/// The same for `text/html` and the like, without digits and capitals, of which secrets are made.
fn least_in_mime(value: &[u8]) -> usize {
    let is_type = value.len() <= MIME_BYTES_MAX
        && value.iter().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'/' | b'+' | b'-' | b'.'));
    match MEDIA.split(' ').find_map(|media| value.strip_prefix(media.as_bytes())).filter(|_| is_type) {
        Some(subtype) if SUBTYPES.split(' ').any(|known| known.as_bytes() == subtype) => usize::MAX,
        Some(_) => IN_MIME_BYTES_MIN,
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_protocol_are_known() {
        let members = [
            ("content", Holds::Other),
            ("role", Holds::Words(&["user", "assistant"])),
            ("type", Holds::Words(&["text"])),
            ("mimeType", Holds::MediaType),
        ];
        let vocabulary: Vocabulary = members.into_iter().collect();
        for (name, expected) in [("content", usize::MAX), ("role", usize::MAX), ("contents2", 0), ("", 0)] {
            assert_eq!(least_in_name(&vocabulary, name.as_bytes()), expected, "{name}");
        }
        for (name, value, expected) in [
            (None, "text", usize::MAX),
            (None, "texts", 0),
            (Some("role"), "user", usize::MAX),
            (Some("role"), "users", 0),
            // A word is one where it belongs, and nowhere else.
            (Some("role"), "text", 0),
            (Some("content"), "text", 0),
            (Some("mimeType"), "text/html", usize::MAX),
            (Some("mimeType"), "application/vnd.api+json", 8),
            (Some("mimeType"), "text/correct-horse-battery", 8),
            (Some("mimeType"), "text/s3cret", 0),
            (Some("type"), "text/html", 0),
            (None, "text/html", 0),
        ] {
            let least = least_in_value(&vocabulary, name.map(str::as_bytes), value.as_bytes());
            assert_eq!(least, expected, "{name:?} {value}");
        }
    }
}

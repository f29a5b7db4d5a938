//! What the standard headers of a modern request may hold (MCP 2026-07-28, Streamable HTTP, "Value encoding").
//!
//! A value that a header cannot carry as it is travels as `=?base64?…?=`. Which arguments are repeated in
//! headers is said by [`crate::param_headers`].

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const OPENS: &str = "=?base64?";
const CLOSES: &str = "?=";

/// A header says something that stands for no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the header's value is neither printable ASCII nor the base64 of UTF-8 text between \"=?base64?\" and \"?=\""
)]
pub struct BadSentinel;

/// The header's value that stands for `value`.
pub fn encode(value: &str) -> Cow<'_, str> {
    let bytes = value.as_bytes();
    let blank_at_an_end = [bytes.first(), bytes.last()].into_iter().flatten().any(|&byte| is_blank(byte));
    let looks_encoded = value.starts_with(OPENS) && value.ends_with(CLOSES);
    if bytes.iter().all(|&byte| is_plain(byte)) && !blank_at_an_end && !looks_encoded {
        return Cow::Borrowed(value);
    }
    Cow::Owned([OPENS, &STANDARD.encode(value), CLOSES].concat())
}

/// What a header's value stands for. Blanks around it do not count.
///
/// # Errors
/// If the base64 or the UTF-8 in it is broken, or it holds a character that no sound header has.
pub fn decode(value: &str) -> Result<Cow<'_, str>, BadSentinel> {
    let value = value.trim_matches(|character: char| matches!(character, ' ' | '\t'));
    match value.strip_prefix(OPENS).and_then(|rest| rest.strip_suffix(CLOSES)) {
        Some(encoded) => {
            let bytes = STANDARD.decode(encoded).map_err(|_| BadSentinel)?;
            String::from_utf8(bytes).map(Cow::Owned).map_err(|_| BadSentinel)
        }
        None if value.bytes().all(is_plain) => Ok(Cow::Borrowed(value)),
        None => Err(BadSentinel),
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn is_plain(byte: u8) -> bool {
    matches!(byte, b'\t' | 0x20..=0x7e)
}

/// The member of `params` that `Mcp-Name` repeats; nothing for methods without that header.
pub fn name_param(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_what_a_header_cannot_carry_is_encoded() {
        let cases = [
            ("us-west1", "us-west1"),
            ("", ""),
            ("us west\t1", "us west\t1"),
            (" padded", "=?base64?IHBhZGRlZA==?="),
            ("padded\t", "=?base64?cGFkZGVkCQ==?="),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            ("a\r\nb", "=?base64?YQ0KYg==?="),
            ("\u{7f}", "=?base64?fw==?="),
            ("=?base64?SGVsbG8=?=", "=?base64?PT9iYXNlNjQ/U0dWc2JHOD0/PQ==?="),
            ("=?base64?SGVsbG8=", "=?base64?SGVsbG8="),
            ("=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?="),
        ];
        for (value, header) in cases {
            assert_eq!(encode(value), header, "{value:?}");
            assert_eq!(decode(header).as_deref(), Ok(value), "{header:?}");
        }
    }

    #[test]
    fn broken_values_are_refused_and_look_alikes_are_taken_as_they_are() {
        let cases = [
            ("  read_file\t", Some("read_file")),
            (" =?base64?SGVsbG8=?= ", Some("Hello")),
            ("=?base64??=", Some("")),
            ("=?base64?=", Some("=?base64?=")),
            ("=?base64?SGVsbG8=", Some("=?base64?SGVsbG8=")),
            ("=?Base64?SGVsbG8=?=", Some("=?Base64?SGVsbG8=?=")),
            ("=?base64?SGVsbG8?=", None),
            ("=?base64?SGVs!!!bG8=?=", None),
            ("=?base64?SGVsbG8=\t?=", None),
            ("=?base64?SGVsbG9=?=", None),
            ("=?base64?SGVsbG_-?=", None),
            ("=?base64?/w==?=", None),
            ("caf\u{e9}", None),
            ("a\u{1}b", None),
        ];
        for (header, expected) in cases {
            assert_eq!(decode(header).ok().as_deref(), expected, "{header:?}");
        }
    }

    #[test]
    fn names_are_repeated_where_the_specification_says() {
        let found: Vec<_> = ["tools/call", "resources/read", "tasks/cancel", "tools/list", "tasks/list"]
            .map(name_param)
            .into_iter()
            .collect();
        assert_eq!(found, [Some("name"), Some("uri"), Some("taskId"), None, None]);
    }

    proptest! {
        #[test]
        fn what_is_encoded_reads_back_and_fits_a_header(value in "\\PC*|[\\x00-\\x7f]*|=\\?base64\\?.*\\?=") {
            let header = encode(&value);
            prop_assert!(header.bytes().all(is_plain), "{header}");
            prop_assert_eq!(header.trim_matches(|c| c == ' ' || c == '\t'), &header);
            prop_assert_eq!(decode(&header).expect("sound").into_owned(), value);
        }
    }
}

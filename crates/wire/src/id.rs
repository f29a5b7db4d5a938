//! Request ids: strings or integers, kept as they were written so that they leave as they came.

use std::fmt;

use bytestring::ByteString;

use crate::text::Text;

/// Longest id we accept, in bytes of JSON text. Real ones are under 50; the bound keeps maps small.
pub const ID_BYTES_MAX: usize = 1024;

/// A request id of JSON-RPC 2.0 as MCP narrows it: a string or an integer, never null.
///
/// Two ids are equal if they are spelt alike.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Id(ByteString);

impl Id {
    /// The id in a checked JSON text, if it is one. `text` must be a slice of `frame`.
    pub fn parse(frame: &Text, text: &str) -> Option<Id> {
        let integer = |text: &str| {
            let digits = text.strip_prefix('-').unwrap_or(text);
            digits.bytes().all(|byte| byte.is_ascii_digit())
        };
        let fits = text.len() <= ID_BYTES_MAX && (text.starts_with('"') || integer(text));
        fits.then(|| Id(frame.slice(text).into_inner()))
    }

    /// An id of our own for a request to an upstream.
    pub fn number(number: u64) -> Id {
        Id(ByteString::from(number.to_string()))
    }

    /// The number, if the id is one that we could have made.
    pub fn as_number(&self) -> Option<u64> {
        self.text().parse().ok()
    }

    /// The JSON text of the id.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({})", self.text())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[track_caller]
    fn check(written: &str, is_id: bool) {
        let frame = Text::check(Bytes::copy_from_slice(written.as_bytes())).expect("a sample is sound");
        let id = Id::parse(&frame, frame.as_str());
        assert_eq!(id.as_ref().map(Id::text), is_id.then_some(written));
    }

    #[test]
    fn an_id_is_a_string_or_an_integer_of_sane_length() {
        for id in ["0", "-7", "123456789012345678901234567890", "\"\"", "\"1.5\""] {
            check(id, true);
        }
        for other in ["1.5", "1e3", "-1E3", "null", "true", "{}", "[1]"] {
            check(other, false);
        }
        let quoted = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
        check(&quoted(ID_BYTES_MAX), true);
        check(&quoted(ID_BYTES_MAX + 1), false);
        check(&"9".repeat(ID_BYTES_MAX), true);
        check(&"9".repeat(ID_BYTES_MAX + 1), false);
    }
}

//! A text as a JSON string.

use wire::string;

/// `text` as a JSON string.
pub(crate) fn literal(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    string::encode(text, &mut out);
    String::from_utf8(out).expect("an encoded string is UTF-8")
}

//! A text as JSON.

/// `text` as a JSON string, with its quotes.
pub(crate) fn literal(text: &str) -> String {
    let mut literal = Vec::with_capacity(text.len() + 2);
    wire::string::encode(text, &mut literal);
    String::from_utf8(literal).expect("an encoded string is UTF-8")
}

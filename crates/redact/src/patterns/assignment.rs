//! Where the value begins that is given to something with a name: `NAME = value`, `"name": "value"`, `<name>value<`,
//! `name => 'value'`, `set("name", "value")`, each also inside a JSON string.
//!
//! Hundreds of rules share this, so it is written out once instead of once in each expression.

/// How far a name may go on behind its keyword, in bytes: `API_KEY_FOR_TESTS =`.
const NAME_REST_BYTES_MAX: usize = 24;

/// Quotes, brackets and blanks between a name and the sign, and between the sign and the value, in bytes. People align
/// their values.
const BETWEEN_BYTES_MAX: usize = 32;

/// A value.
pub(super) struct Value {
    /// Where it begins.
    pub(super) start: usize,
    /// Where the name of it ends, with the words behind its keyword.
    pub(super) name_end: usize,
    /// True if a quote stands before it.
    pub(super) is_quoted: bool,
}

/// The value given to a name whose keyword ends at `end`.
pub(super) fn value_behind(text: &[u8], end: usize) -> Option<Value> {
    let name_end = skip(text, end, NAME_REST_BYTES_MAX, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b' ' | b'\t')
    });
    let at = skip(text, name_end, BETWEEN_BYTES_MAX, |byte| {
        matches!(byte, b'\'' | b'"' | b'`' | b'\\' | b']' | b' ' | b'\t' | b'\r' | b'\n')
    });
    let rest = text.get(at..)?;
    let sign = [&b"::="[..], b":=", b"=>", b"||", b"?=", b"->", b"=", b":", b">", b","];
    let sign = sign.into_iter().find(|sign| rest.starts_with(sign))?;
    let behind = at + sign.len();
    let start = skip(text, behind, BETWEEN_BYTES_MAX, |byte| {
        matches!(byte, b'\'' | b'"' | b'`' | b'\\' | b'=' | b' ' | b'\t' | b'\r' | b'\n')
    });
    let is_quoted = text[behind..start].iter().any(|byte| matches!(byte, b'\'' | b'"' | b'`'));
    // What follows a comma without a quote is the next of several things.
    let is_given = start < text.len() && (is_quoted || sign != b",");
    is_given.then_some(Value { start, name_end, is_quoted })
}

fn skip(text: &[u8], from: usize, bytes_max: usize, is_skipped: impl Fn(u8) -> bool) -> usize {
    let rest = &text[from..text.len().min(from + bytes_max)];
    from + rest.iter().take_while(|byte| is_skipped(**byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_given_to_a_name() {
        for (text, value) in [
            ("key=v", Some(("v", false))),
            ("key = \"v\"", Some(("v\"", true))),
            ("\"key\": \"v\"", Some(("v\"", true))),
            (r#"\"key\": \"v\""#, Some((r#"v\""#, true))),
            ("key_for_tests => 'v'", Some(("v'", true))),
            ("set('key', 'v')", Some(("v')", true))),
            ("env[\"key\"] = \"v\"", Some(("v\"", true))),
            ("<key>v</key>", Some(("v</key>", false))),
            ("key:\n  v", Some(("v", false))),
            ("key := v", Some(("v", false))),
            ("the key is here", None),
            ("key", None),
            ("key=", None),
            ("key(v)", None),
            ("f(key, v)", None),
        ] {
            let end = text.find("key").expect("it is there") + 3;
            let found =
                value_behind(text.as_bytes(), end).map(|value| (&text[value.start..], value.is_quoted));
            assert_eq!(found, value, "{text}");
        }
    }
}

//! The arguments of one call: the text as it came and the value it means, from one parse.

use bytes::Bytes;
use serde_json::Value;

/// Arguments that are a JSON object.
///
/// Whoever checks looks at [`Arguments::value`], whoever forwards sends [`Arguments::text`]; the wire has
/// refused duplicate keys, so both say the same.
#[derive(Debug, Clone)]
pub struct Arguments {
    text: Bytes,
    value: Value,
}

/// The text is no JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the arguments must be a JSON object")]
pub struct ArgumentsFault;

impl Arguments {
    /// Parses the text of an arguments object; none at all means `{}`.
    ///
    /// # Errors
    /// If the text is anything but a JSON object.
    pub fn parse(text: Option<Bytes>) -> Result<Arguments, ArgumentsFault> {
        let text = text.unwrap_or_else(|| Bytes::from_static(b"{}"));
        match serde_json::from_slice::<Value>(&text) {
            Ok(value @ Value::Object(_)) => Ok(Arguments { text, value }),
            _ => Err(ArgumentsFault),
        }
    }

    /// The object's JSON text, byte for byte as the caller wrote it.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.text).expect("JSON that parsed is UTF-8")
    }

    /// What the text means.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Gives up the text and keeps the meaning.
    pub fn into_value(self) -> Value {
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_are_arguments() {
        let parse = |text: &'static str| Arguments::parse(Some(Bytes::from_static(text.as_bytes())));
        assert_eq!(parse(r#"{ "n":1.0 }"#).expect("object").text(), r#"{ "n":1.0 }"#);
        assert_eq!(Arguments::parse(None).expect("nothing is the empty object").text(), "{}");
        for text in ["[]", "null", "\"{}\"", "{", ""] {
            assert_eq!(parse(text).expect_err(text), ArgumentsFault);
        }
    }
}

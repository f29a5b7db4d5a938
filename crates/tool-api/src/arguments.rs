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

/// The text is no JSON object, or one that cannot be held (half a character, a number out of range): what it
/// is instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the arguments must be a JSON object, not {0}")]
pub struct ArgumentsFault(pub String);

impl Arguments {
    /// Parses the text of an arguments object; none at all means `{}`.
    ///
    /// # Errors
    /// If the text is anything but a JSON object.
    pub fn parse(text: Option<Bytes>) -> Result<Arguments, ArgumentsFault> {
        let text = text.unwrap_or_else(|| Bytes::from_static(b"{}"));
        match serde_json::from_slice::<Value>(&text) {
            Ok(value @ Value::Object(_)) => Ok(Arguments { text, value }),
            Ok(Value::Array(_)) => Err(ArgumentsFault("an array".to_owned())),
            Ok(_) => Err(ArgumentsFault("a single value".to_owned())),
            // Names the place and the kind of fault, never what stands there.
            Err(error) => Err(ArgumentsFault(format!("text that cannot be read: {error}"))),
        }
    }

    /// The object's JSON text, byte for byte as the caller wrote it.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.text).expect("JSON that parsed is UTF-8")
    }

    /// The same text, shared.
    pub fn bytes(&self) -> Bytes {
        self.text.clone()
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
            assert!(parse(text).is_err(), "{text}");
        }
    }
}

//! A time limit as people write it: milliseconds, or a number with its unit.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Unexpected, Visitor};
use units::Span;

/// A time limit. Whether it is sensible is checked where it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout(pub Duration);

impl<'de> Deserialize<'de> for Timeout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Timeout, D::Error> {
        deserializer.deserialize_any(TimeoutVisitor)
    }
}

struct TimeoutVisitor;

impl Visitor<'_> for TimeoutVisitor {
    type Value = Timeout;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "milliseconds, or {}", Span::EXPECTED)
    }

    fn visit_u64<E: de::Error>(self, ms: u64) -> Result<Timeout, E> {
        Ok(Timeout(Duration::from_millis(ms)))
    }

    fn visit_i64<E: de::Error>(self, ms: i64) -> Result<Timeout, E> {
        let positive = u64::try_from(ms).map_err(|_| E::invalid_value(Unexpected::Signed(ms), &self))?;
        self.visit_u64(positive)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Timeout, E> {
        let read = text.parse().map(|Span(time)| Timeout(time));
        read.map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

impl JsonSchema for Timeout {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Timeout".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "integer", "minimum": 1, "description": "Milliseconds." },
                { "type": "string", "pattern": Span::PATTERN },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected_ms: Option<u64>) {
        let read = serde_json::from_str::<Timeout>(json).ok().map(|it| it.0);
        assert_eq!(read, expected_ms.map(Duration::from_millis), "{json}");
    }

    #[test]
    fn a_time_or_milliseconds() {
        check(r#""30s""#, Some(30_000));
        check(r#""1m 30s""#, Some(90_000));
        check("250", Some(250));
        for json in ["-1", "1.5", r#""30""#, r#""-1s""#, r#""soon""#, "true"] {
            check(json, None);
        }
    }
}

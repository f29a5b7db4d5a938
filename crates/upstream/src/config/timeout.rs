//! A time limit as people write it: milliseconds, or a number with its unit.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Unexpected, Visitor};

/// A time limit. Whether it is sensible is checked where it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout(pub Duration);

/// The units, longest name first, and their milliseconds.
const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

impl Timeout {
    fn parse(text: &str) -> Option<Timeout> {
        let digits = text.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit) = text.split_at(digits);
        let (_, unit_ms) = UNITS.into_iter().find(|(name, _)| *name == unit.trim_start())?;
        let ms = number.parse::<u64>().ok()?.checked_mul(unit_ms)?;
        Some(Timeout(Duration::from_millis(ms)))
    }
}

impl<'de> Deserialize<'de> for Timeout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Timeout, D::Error> {
        deserializer.deserialize_any(TimeoutVisitor)
    }
}

struct TimeoutVisitor;

impl Visitor<'_> for TimeoutVisitor {
    type Value = Timeout;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("milliseconds or a time such as \"30s\" (units: ms, s, m, h)")
    }

    fn visit_u64<E: de::Error>(self, ms: u64) -> Result<Timeout, E> {
        Ok(Timeout(Duration::from_millis(ms)))
    }

    fn visit_i64<E: de::Error>(self, ms: i64) -> Result<Timeout, E> {
        let positive = u64::try_from(ms).map_err(|_| E::invalid_value(Unexpected::Signed(ms), &self))?;
        self.visit_u64(positive)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Timeout, E> {
        Timeout::parse(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
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
                { "type": "string", "pattern": "^[0-9]+ *(ms|s|m|h)$" },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected_ms: Option<u64>) {
        assert_eq!(Timeout::parse(text).map(|it| it.0), expected_ms.map(Duration::from_millis), "{text}");
    }

    #[test]
    fn a_number_and_a_unit() {
        check("30s", Some(30_000));
        check("5 m", Some(300_000));
        check("250ms", Some(250));
        check("1h", Some(3_600_000));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "s", "30", "1.5s", "-1s", "30 sec", "30s ", "1d", "99999999999999999999s"] {
            check(text, None);
        }
        check("18446744073709551615h", None);
    }
}

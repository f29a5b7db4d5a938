//! Lengths of time and sizes as people write them: a number with its unit.

use std::{borrow::Cow, fmt, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Unexpected, Visitor};

/// A length of time, such as `"365d"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Age(pub Duration);

/// A number of bytes, such as `"64 MiB"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

/// Names and seconds.
const AGES: [(&str, u64); 4] = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400)];

/// Names and bytes.
const SIZES: [(&str, u64); 3] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

impl Age {
    /// Reads the written form; nothing if it is none.
    pub fn parse(text: &str) -> Option<Age> {
        parse(text, &AGES).map(|seconds| Age(Duration::from_secs(seconds)))
    }
}

impl Size {
    /// Reads the written form; nothing if it is none.
    pub fn parse(text: &str) -> Option<Size> {
        parse(text, &SIZES).map(Size)
    }
}

fn parse(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

struct AmountVisitor<T> {
    expected: &'static str,
    parse: fn(&str) -> Option<T>,
}

impl<T> Visitor<'_> for AmountVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

impl<'de> Deserialize<'de> for Age {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Age, D::Error> {
        let expected = "a time such as \"365d\" (units: s, m, h, d)";
        deserializer.deserialize_str(AmountVisitor { expected, parse: Age::parse })
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        let expected = "a size such as \"64 MiB\" (units: KiB, MiB, GiB)";
        deserializer.deserialize_str(AmountVisitor { expected, parse: Size::parse })
    }
}

impl JsonSchema for Age {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Age".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]+ *(s|m|h|d)$" })
    }
}

impl JsonSchema for Size {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]+ *(KiB|MiB|GiB)$" })
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What no unit divides was never written by a person.
        let (name, factor) =
            SIZES.iter().rev().find(|(_, factor)| self.0.is_multiple_of(*factor)).unwrap_or(&("B", 1));
        write!(f, "{} {name}", self.0 / factor)
    }
}

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let (name, factor) =
            AGES.iter().rev().find(|(_, factor)| seconds.is_multiple_of(*factor)).unwrap_or(&AGES[0]);
        write!(f, "{}{name}", seconds / factor)
    }
}

/// The written form, which the reference of the configuration shows as the default.
impl serde::Serialize for Age {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl serde::Serialize for Size {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_a_unit() {
        let age = |text| Age::parse(text).map(|age| age.0.as_secs());
        for (text, seconds) in [("90s", 90), ("5 m", 300), ("2h", 7_200), ("365d", 31_536_000), ("0d", 0)] {
            assert_eq!(age(text), Some(seconds), "{text}");
        }
        let size = |text| Size::parse(text).map(|size| size.0);
        for (text, bytes) in [("64 MiB", 64 << 20), ("1GiB", 1 << 30), ("512 KiB", 512 << 10)] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in ["", "d", "5", "1.5d", "-1d", "5 days", "5d ", "1 GB", "18446744073709551615d"] {
            assert_eq!((age(text), size(text)), (None, None), "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["365d", "36h", "90m", "1s"] {
            assert_eq!(Age::parse(text).expect("an age").to_string(), text);
        }
        for text in ["64 MiB", "1 GiB", "1536 MiB", "3 KiB"] {
            assert_eq!(Size::parse(text).expect("a size").to_string(), text);
        }
    }
}

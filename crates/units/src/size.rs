//! Sizes: `"512 KiB"`, `"64 MiB"`, `"1 GiB"`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

use crate::written::{self, NotWritten, Unit};

/// A number of bytes, such as `64 MiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(inline)]
pub struct Size(#[schemars(with = "String", regex(pattern = "^[0-9]+ *(KiB|MiB|GiB)$"))] pub u64);

/// Names and bytes.
const UNITS: [Unit; 3] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

impl Size {
    /// What is wanted of somebody who writes one.
    pub const EXPECTED: &str = "a size such as \"64 MiB\" (units: KiB, MiB, GiB)";
}

impl FromStr for Size {
    type Err = NotWritten;

    fn from_str(text: &str) -> Result<Size, NotWritten> {
        let bytes = written::read(text, &UNITS).and_then(|(number, factor)| number.checked_mul(factor));
        bytes.map(Size).ok_or(NotWritten(Size::EXPECTED))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What no unit divides was never written by a person.
        if !self.0.is_multiple_of(UNITS[0].1) {
            return write!(f, "{} B", self.0);
        }
        let (number, name) = written::whole(self.0, &UNITS);
        write!(f, "{number} {name}")
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        written::deserialize(deserializer, Size::EXPECTED)
    }
}

/// The written form, which the reference of the configuration shows as the default.
impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_a_unit() {
        for (text, bytes) in [
            ("64 MiB", Some(64 << 20)),
            ("1GiB", Some(1 << 30)),
            ("512 KiB", Some(512 << 10)),
            ("1 GB", None),
            ("1 GiB 1 KiB", None),
            ("5", None),
            ("MiB", None),
            ("1.5 MiB", None),
            ("1 MiB ", None),
            ("", None),
            ("18446744073709551615 KiB", None),
        ] {
            assert_eq!(text.parse::<Size>().ok(), bytes.map(Size), "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["64 MiB", "1 GiB", "1536 MiB", "3 KiB"] {
            assert_eq!(text.parse::<Size>().expect("a size").to_string(), text);
        }
        assert_eq!(Size(1025).to_string(), "1025 B");
    }
}

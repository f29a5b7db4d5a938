//! What lengths of time and sizes share: numbers and units in a text, and the text of a setting.

use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Deserializer, Error, Unexpected, Visitor};

/// A text is no length of time, or no size: what is wanted instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write {0}")]
pub struct NotWritten(pub(crate) &'static str);

/// A unit: its name, and how many of the smallest it is.
pub(crate) type Unit = (&'static str, u64);

/// Reads a number and its unit: the number, and how many of the smallest unit one of them is.
pub(crate) fn read(text: &str, units: &[Unit]) -> Option<(u64, u64)> {
    let (digits, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let (_, factor) = units.iter().find(|(name, _)| *name == rest.trim_start_matches(' '))?;
    Some((digits.parse().ok()?, *factor))
}

/// The number with the largest unit of which it is a whole one. The first unit is the smallest.
pub(crate) fn whole(number: u64, units: &[Unit]) -> (u64, &'static str) {
    let divides = |(_, factor): &&Unit| number.is_multiple_of(*factor);
    let (name, factor) = units.iter().rev().find(divides).unwrap_or(&units[0]);
    (number / factor, name)
}

/// Reads a setting.
pub(crate) fn deserialize<'de, D, T>(deserializer: D, expected: &'static str) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr,
{
    deserializer.deserialize_str(Written { expected, read: PhantomData })
}

struct Written<T> {
    expected: &'static str,
    read: PhantomData<T>,
}

impl<T: FromStr> Visitor<'_> for Written<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expected.fmt(f)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

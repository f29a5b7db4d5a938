//! What all amounts share: numbers and units in a text, and the text of a setting.

use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Deserializer, Error, Unexpected, Visitor};

/// A unit: its name, and how many of the smallest it is.
pub(crate) type Unit = (&'static str, u64);

/// Reads a number and its unit at the beginning of a text; gives the number, the place of the unit in the list, and the
/// rest of the text.
pub(crate) fn first<'t>(text: &'t str, units: &[Unit]) -> Option<(u64, usize, &'t str)> {
    let (digits, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let rest = rest.trim_start_matches(' ');
    let (name, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len()));
    let unit = units.iter().position(|(known, _)| *known == name)?;
    Some((digits.parse().ok()?, unit, rest))
}

/// The amount with the largest unit of which it is a whole number. The first unit is the smallest.
pub(crate) fn whole(amount: u64, units: &[Unit]) -> (u64, &'static str) {
    let divides = |(_, factor): &&Unit| amount.is_multiple_of(*factor);
    let (name, factor) = units.iter().rev().find(divides).unwrap_or(&units[0]);
    (amount / factor, name)
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

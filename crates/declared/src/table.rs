//! A table of a manifest, whose members have names: a list would be taken by position, and say something else once a member is
//! added.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// Reads a table, and refuses a list.
pub(crate) fn table<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_map(Members(PhantomData))
}

/// The same of one that may be left out.
pub(crate) fn table_if_any<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    from.deserialize_option(IfAny(PhantomData))
}

struct Members<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table, whose members have names")
    }

    fn visit_map<M: MapAccess<'de>>(self, members: M) -> Result<T, M::Error> {
        T::deserialize(MapAccessDeserializer::new(members))
    }
}

struct IfAny<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for IfAny<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table, whose members have names")
    }

    fn visit_none<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Option<T>, D::Error> {
        table(from).map(Some)
    }
}

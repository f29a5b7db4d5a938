//! The blocks of a server's result that are text, whatever the escapes in them say.

use std::borrow::Cow;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::meta::{Members, written};

/// The text of one block: a text, or a resource that is one.
pub(crate) struct TextBlock<'b> {
    pub(crate) text: Cow<'b, str>,
    pub(crate) is_resource: bool,
}

impl<'b> TextBlock<'b> {
    /// Nothing for a block of another kind.
    pub(crate) fn of(block: &'b str) -> Option<TextBlock<'b>> {
        #[derive(Deserialize)]
        struct Block<'b> {
            #[serde(rename = "type", borrow)]
            kind: Lossy<'b>,
            #[serde(borrow)]
            text: Option<Lossy<'b>>,
            #[serde(borrow)]
            resource: Option<Resource<'b>>,
        }
        #[derive(Deserialize)]
        struct Resource<'b> {
            #[serde(borrow)]
            text: Option<Lossy<'b>>,
        }
        let block: Block<'b> = serde_json::from_str(block).ok()?;
        match (&*block.kind.0, block.text, block.resource) {
            ("text", Some(Lossy(text)), _) => Some(TextBlock { text, is_resource: false }),
            ("resource", _, Some(Resource { text: Some(Lossy(text)) })) => {
                Some(TextBlock { text, is_resource: true })
            }
            _ => None,
        }
    }

    /// The block with this text; nothing for none at all, unless it is kept all the same.
    pub(crate) fn with(&self, text: &str, is_kept: bool, block: &str) -> Option<String> {
        if text.is_empty() && !is_kept {
            return None;
        }
        let with_text = |object: &str| replaced(object, "text", |_| Some(literal(text)));
        match self.is_resource {
            true => replaced(block, "resource", with_text),
            false => with_text(block),
        }
    }
}

/// An object with another value of this member, and all else as it is written; nothing if that is to stay as it is, too.
pub(crate) fn replaced(
    object: &str,
    name: &str,
    value: impl FnOnce(&str) -> Option<String>,
) -> Option<String> {
    let Members(mut members) = serde_json::from_str(object).ok()?;
    let at = members.iter().rposition(|(known, _)| known == name)?;
    let value = RawValue::from_string(value(members[at].1.get())?).ok()?;
    members[at].1 = &*value;
    Some(written(members.iter().map(|(name, value)| (&**name, *value))))
}

pub(crate) fn literal(text: &str) -> String {
    serde_json::to_string(text).expect("a text is JSON")
}

/// A JSON string, whatever its escapes say: each byte of half a pair of surrogates becomes U+FFFD.
struct Lossy<'t>(Cow<'t, str>);

impl<'de: 't, 't> Deserialize<'de> for Lossy<'t> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Lossy<'t>, D::Error> {
        from.deserialize_bytes(Reading).map(Lossy)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Cow::Owned(String::from_utf8_lossy(bytes).into_owned()))
    }

    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(String::from_utf8_lossy(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of a block, as JSON writes it.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let block = format!(r#"{{"type":"text","text":"{text}"}}"#);
        assert_eq!(TextBlock::of(&block).map(|block| block.text.into_owned()).as_deref(), Some(expected));
    }

    #[test]
    fn escapes_count_as_what_they_mean() {
        check(r"\u0030\u0031\n", "01\n");
        check(r"\u00e9e", "ée");
        check(r"a\ud83d\ude00", "a😀");
    }

    #[test]
    fn half_a_pair_of_surrogates_is_shown_as_such() {
        check(r"\ud83d--01234", "\u{fffd}\u{fffd}\u{fffd}--01234");
    }
}

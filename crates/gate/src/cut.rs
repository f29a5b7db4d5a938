//! Cutting the text of a server's result that is too long for one answer. What is behind the cut is kept for its caller to
//! read on; everything that is no text stays as it came.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use tool_api::{LongResult, Outcome, Payload};

use crate::meta::{Members, written};
use crate::result_cache::{Owner, ResultCache};

/// What stands between two blocks of text when they are read on as one.
const BETWEEN: &str = "\n";

/// Where the content stands in what a server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// It is the result of a call.
    Call,
    /// It is a task, which holds the result of a call once that is there.
    Task,
}

/// How the result of a call is cut.
pub(crate) struct Cutting {
    pub(crate) bytes_max: usize,
    pub(crate) place: Place,
    /// Who may read on.
    pub(crate) owner: Owner,
    pub(crate) cache: Arc<ResultCache>,
}

impl Cutting {
    /// The outcome with as much text as one answer may have.
    pub(crate) fn cut(self, outcome: Outcome) -> Outcome {
        let Payload::Relayed { result, structured } = outcome.payload else { return outcome };
        let cut = std::str::from_utf8(&result).ok().and_then(|text| self.answer(text));
        let result = cut.map_or(result, Bytes::from);
        Outcome { payload: Payload::Relayed { result, structured }, ..outcome }
    }

    /// What a server answers, cut; nothing if it is to stay as it is.
    fn answer(&self, answer: &str) -> Option<String> {
        match self.place {
            Place::Call => self.call_result(answer),
            Place::Task => replaced(answer, "result", |result| self.call_result(result)),
        }
    }

    fn call_result(&self, result: &str) -> Option<String> {
        replaced(result, "content", |content| self.content(content))
    }

    fn content(&self, content: &str) -> Option<String> {
        let blocks: Vec<&RawValue> = serde_json::from_str(content).ok()?;
        let texts: Vec<Option<Shown<'_>>> = blocks.iter().map(|block| Shown::of(block.get())).collect();
        let bytes: usize = texts.iter().flatten().map(|shown| shown.text.len()).sum();
        if bytes <= self.bytes_max {
            return None;
        }
        let whole: Vec<&str> = texts.iter().flatten().map(|shown| &*shown.text).collect();
        let whole = LongResult::new(whole.join(BETWEEN), self.bytes_max);
        let (part, mut start) = (whole.part(0), 0);
        let mut shown = Vec::with_capacity(blocks.len() + 1);
        for (block, text) in blocks.iter().zip(&texts) {
            let Some(text) = text else {
                shown.push(Cow::Borrowed(block.get()));
                continue;
            };
            shown.extend(text.up_to(part.end.saturating_sub(start), block.get()));
            start += text.text.len() + BETWEEN.len();
        }
        shown.push(Cow::Owned(self.mark(whole, &part)?));
        Some(format!("[{}]", shown.join(",")))
    }

    /// Keeps the whole, and says in a block of its own how to read on.
    fn mark(&self, whole: LongResult, part: &Range<usize>) -> Option<String> {
        let id = self.cache.keep(self.owner.clone(), whole.clone())?;
        Some(format!(r#"{{"type":"text","text":{}}}"#, json(&whole.mark(&id, part))))
    }
}

/// The text of one block: a text, or a resource that is one.
struct Shown<'b> {
    text: Cow<'b, str>,
    is_resource: bool,
}

impl<'b> Shown<'b> {
    /// Nothing for a block of another kind.
    fn of(block: &'b str) -> Option<Shown<'b>> {
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
            ("text", Some(Lossy(text)), _) => Some(Shown { text, is_resource: false }),
            ("resource", _, Some(Resource { text: Some(Lossy(text)) })) => {
                Some(Shown { text, is_resource: true })
            }
            _ => None,
        }
    }

    /// The block with so many bytes of its text. One of which nothing is left is left out, unless it names a resource.
    fn up_to<'t>(&self, bytes: usize, block: &'t str) -> Option<Cow<'t, str>> {
        let Some(text) = self.text.get(..bytes).filter(|text| text.len() < self.text.len()) else {
            return Some(Cow::Borrowed(block));
        };
        let with_text = |object: &str| replaced(object, "text", |_| Some(json(text)));
        match (self.is_resource, text) {
            (true, _) => replaced(block, "resource", with_text).map(Cow::Owned),
            (false, "") => None,
            (false, _) => with_text(block).map(Cow::Owned),
        }
    }
}

/// An object with another value of this member, and all else as it is written; nothing if that is to stay as it is, too.
fn replaced(object: &str, name: &str, value: impl Fn(&str) -> Option<String>) -> Option<String> {
    let Members(mut members) = serde_json::from_str(object).ok()?;
    let at = members.iter().rposition(|(known, _)| known == name)?;
    let value = RawValue::from_string(value(members[at].1.get())?).ok()?;
    members[at].1 = &*value;
    Some(written(members.iter().map(|(name, value)| (&**name, *value))))
}

fn json(text: &str) -> String {
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

    /// What is shown of a result with this text, as JSON writes it, where one shows 16 bytes. The gate's cases say the rest.
    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let owner = Owner { caller: "c".into(), key: None, conversation: None, workspace: String::new() };
        let cutting = Cutting { bytes_max: 16, place: Place::Call, owner, cache: Arc::default() };
        let cut = cutting.answer(&format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#));
        let shown =
            cut.as_ref().map(|cut| serde_json::from_str::<serde_json::Value>(cut).expect("it is JSON"));
        assert_eq!(shown.as_ref().and_then(|shown| shown["content"][0]["text"].as_str()), expected, "{text}");
    }

    #[test]
    fn escapes_count_as_what_they_mean() {
        check(r"\u0030\u0031\n\n\n\n\n\n\n\n\n\n\n\n\n\n", None);
        check(r"\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9e", Some("éééééééé"));
        check(r"0123456789abcde\u00e9", Some("0123456789abcde"));
        check(r"0123456789abcd\ud83d\ude00", Some("0123456789abcd"));
    }

    #[test]
    fn half_a_pair_of_surrogates_is_shown_as_such() {
        check(r"\ud83d--01234", None);
        check(r"\ud83d--0123456789abcde", Some("\u{fffd}\u{fffd}\u{fffd}--01234"));
    }
}

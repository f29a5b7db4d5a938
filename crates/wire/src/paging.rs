//! What all lists share: the cursor of a request, the pages of an upstream, and our own answers.

use crate::error::WireError;
use crate::object::{self, Object};
use crate::object_writer::ObjectWriter;
use crate::relayed::invalid;
use crate::string;
use crate::text::Text;

/// The cursor in the parameters of a list request.
///
/// # Errors
/// `InvalidParams` if it is no string.
pub fn list_cursor(params: Option<&Text>) -> Result<Option<String>, WireError> {
    match params.and_then(Text::object).and_then(|object| object.get("cursor")) {
        None | Some("null") => Ok(None),
        Some(value) => match string::decode_if_string(value) {
            Some(cursor) => Ok(Some(cursor.into_owned())),
            None => Err(invalid("\"cursor\" must be a string")),
        },
    }
}

/// An entry of an upstream's list.
#[derive(Debug, Clone)]
pub struct PageEntry {
    /// What it is known by there: a name, a URI, a URI template.
    pub key: String,
    /// The whole object as it came.
    pub text: Text,
}

/// One page of an upstream's list: the sound entries, how many were not, and where to go on.
#[derive(Debug, Clone)]
pub struct Page {
    /// The entries that could be read.
    pub entries: Vec<PageEntry>,
    /// How many could not.
    pub unusable: usize,
    /// The cursor for the next page. The empty string is a cursor, too.
    pub next_cursor: Option<String>,
    /// How long the page stays good.
    pub cache: Cache,
}

/// Reads an upstream's answer to a list request, whose entries are in the array `member`; nothing if there is no
/// such array. A sound entry has a text as `key`, and more if `is_sound` wants it.
pub(crate) fn read_page(
    result: &Text,
    member: &str,
    key: &str,
    is_sound: impl Fn(Object<'_>) -> bool,
) -> Option<Page> {
    let object = result.object()?;
    let mut page = Page { entries: Vec::new(), unusable: 0, next_cursor: None, cache: Cache::read(object) };
    let read = |entry| {
        let entry = Object::parse(entry).filter(|entry| is_sound(*entry))?;
        let key = entry.string(key).filter(|key| !key.is_empty())?.into_owned();
        Some(PageEntry { key, text: result.slice(entry.text()) })
    };
    for entry in object::elements(object.get(member)?)? {
        match read(entry) {
            Some(entry) => page.entries.push(entry),
            None => page.unusable += 1,
        }
    }
    page.next_cursor = object.string("nextCursor").map(|cursor| cursor.into_owned());
    Some(page)
}

/// To whom else a kept answer may be given (`cacheScope`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// To everybody.
    Public,
    /// To nobody but the caller who asked.
    #[default]
    Private,
}

/// How long a complete answer stays good, since revision 2026-07-28.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cache {
    /// `ttlMs`: milliseconds since the answer came; 0 means that it is stale at once.
    pub ttl_ms: u64,
    /// `cacheScope`.
    pub scope: Scope,
}

impl Cache {
    /// What a result says of itself. What is missing or makes no sense counts as the strictest.
    pub fn read(result: Object<'_>) -> Cache {
        let mut cache = Cache::default();
        for member in result.members() {
            if member.is("ttlMs") {
                cache.ttl_ms = member.value.parse().unwrap_or(0);
            } else if member.is("cacheScope")
                && string::decode_if_string(member.value).as_deref() == Some("public")
            {
                cache.scope = Scope::Public;
            }
        }
        cache
    }

    fn write<'o>(self, result: ObjectWriter<'o>) -> ObjectWriter<'o> {
        let scope = match self.scope {
            Scope::Public => "public",
            Scope::Private => "private",
        };
        result.json("ttlMs", &*self.ttl_ms.to_string()).string("cacheScope", scope)
    }
}

/// Writes the result of a list request from entries that are JSON text already. With `cache` it is a result
/// of the modern revision, without one of the legacy revisions.
pub fn write_list_result(
    member: &str,
    entries: impl Iterator<Item = impl AsRef<[u8]>>,
    next_cursor: Option<&str>,
    cache: Option<Cache>,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    let mut result = ObjectWriter::begin(&mut out);
    if let Some(cache) = cache {
        result = cache.write(result.string("resultType", "complete"));
    }
    let list = result.member(member);
    list.push(b'[');
    for (index, entry) in entries.enumerate() {
        if index > 0 {
            list.push(b',');
        }
        list.extend_from_slice(entry.as_ref());
    }
    list.push(b']');
    result.string("nextCursor", next_cursor).end();
    out
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::prelude::*;

    use super::*;
    use crate::error::Code;

    fn text(json: &str) -> Text {
        Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("a sample is sound")
    }

    #[test]
    fn cursors_are_read_or_refused() {
        let read = |params: &str| list_cursor(Some(&text(params)));
        assert_eq!(read(r#"{"cursor":"a\u0062"}"#), Ok(Some("ab".into())));
        assert_eq!(read(r#"{"cursor":""}"#), Ok(Some(String::new())));
        assert_eq!(read(r#"{"cursor":null}"#), Ok(None));
        assert_eq!(list_cursor(None), Ok(None));
        assert_eq!(read(r#"{"cursor":5}"#).expect_err("no string").code, Code::InvalidParams);
    }

    #[test]
    fn hints_that_make_no_sense_are_the_strictest() {
        let read = |result: &str| Cache::read(text(result).object().expect("an object"));
        let private = |ttl_ms| Cache { ttl_ms, scope: Scope::Private };
        assert_eq!(read("{}"), private(0));
        assert_eq!(read(r#"{"ttlMs":-1,"cacheScope":"shared"}"#), private(0));
        assert_eq!(read(r#"{"ttlMs":"5","cacheScope":1}"#), private(0));
        assert_eq!(read(r#"{"ttlMs":1.5}"#), private(0));
        assert_eq!(
            read(r#"{"cacheScope":"public","ttlMs":300000}"#),
            Cache { ttl_ms: 300_000, scope: Scope::Public }
        );
    }

    proptest! {
        #[test]
        fn lists_read_back(
            entries in prop::collection::vec("[a-z]{0,3}", 0..5),
            next in prop::option::of("\\PC{0,6}"),
            ttl_ms: u64,
            public: bool,
            modern: bool,
        ) {
            let cache = Cache { ttl_ms, scope: if public { Scope::Public } else { Scope::Private } };
            let written: Vec<Vec<u8>> = entries.iter().map(|entry| format!("{{\"k\":\"{entry}\"}}").into_bytes()).collect();
            let hints = modern.then_some(cache);
            let out = write_list_result("tools", written.iter().map(|entry| &entry[..]), next.as_deref(), hints);
            let result = Text::check(out.into()).expect("sound");
            let page = read_page(&result, "tools", "k", |_| true).expect("a list");
            prop_assert_eq!(page.unusable, entries.iter().filter(|entry| entry.is_empty()).count());
            prop_assert_eq!(page.entries.len() + page.unusable, entries.len());
            prop_assert_eq!(page.next_cursor, next);
            prop_assert_eq!(page.cache, hints.unwrap_or_default());
            prop_assert_eq!(result.object().and_then(|entry| entry.get("resultType")).is_some(), modern);
        }
    }
}

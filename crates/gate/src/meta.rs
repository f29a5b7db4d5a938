//! The members of `_meta` that are the caller's own and not the protocol's. A tool elsewhere is sent them and may act on
//! them, so they are judged like arguments, and what a person allows is bound to them.

use std::borrow::Cow;

use audit::Hash;
use bytes::Bytes;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The protocol's own members, which are read, and written anew, where they are passed on.
const PROTOCOL: [&str; 5] = [
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/logLevel",
    "progressToken",
];

/// The member by which a trace goes on.
const TRACEPARENT: &str = "traceparent";

/// Longest value of it that is one, in bytes, quotes included.
const TRACEPARENT_BYTES_MAX: usize = 64;

/// Members in which clients, and those who trace calls, count calls and conversations. They are other ones each time, so
/// nothing can be bound to them: a call that a person has allowed goes without.
const COUNTED: [&str; 12] = [
    "io.modelcontextprotocol/related-task",
    "tracestate",
    "baggage",
    "b3",
    "sentry-trace",
    "claudecode/toolUseId",
    "vscode.conversationId",
    "vscode.requestId",
    "x-codex-turn-metadata",
    "threadId",
    "_toolCallId",
    "toolcrib/request_id",
];

/// What the names of others begin with.
const COUNTED_BEGINNINGS: [&str; 2] = ["openai/", "x-datadog-"];

/// The keys of `_meta` that are known here, the beginnings of some with a `*`, and whether they count calls: a test holds them
/// to the protocol's vocabulary.
pub fn meta_keys() -> impl Iterator<Item = (String, bool)> {
    let whole = PROTOCOL.map(|key| (key, false)).into_iter().chain(COUNTED.map(|key| (key, true)));
    let whole = whole.map(|(key, is_counted)| (key.to_owned(), is_counted));
    whole.chain(COUNTED_BEGINNINGS.map(|begins| (format!("{begins}*"), true)))
}

/// The members of one `_meta`, in their order; those that come twice are there twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meta {
    /// An object as JSON text; what cannot be read stands as it came.
    own: String,
    is_changed: bool,
}

impl Meta {
    /// Of a call's `_meta`, that will be judged by rules or not.
    pub(crate) fn of_call(meta: Option<&[u8]>, is_judged: bool) -> Option<Meta> {
        let own = Meta::of(meta?)?;
        Some(if is_judged { own.uncounted() } else { own })
    }

    /// Of a `_meta` object as JSON text; nothing if all of it is the protocol's.
    fn of(meta: &[u8]) -> Option<Meta> {
        let own = match serde_json::from_slice(meta) {
            Ok(Members(members)) => {
                let mut own = members.iter().filter(|(name, value)| !is_protocols(name, value)).peekable();
                own.peek()?;
                written(own.map(|(name, value)| (&**name, *value)))
            }
            Err(_) => String::from_utf8_lossy(meta).into_owned(),
        };
        Some(Meta { own, is_changed: false })
    }

    /// The same without what is other each time, which a rule would take for something else: where contents and paths are
    /// judged, it stays here.
    fn uncounted(self) -> Meta {
        let has_counted = serde_json::from_str::<Members<'_>>(&self.own)
            .is_ok_and(|Members(members)| members.iter().any(|(name, _)| is_counted(name)));
        match has_counted {
            true => Meta { own: self.bound().unwrap_or_else(|| "{}".to_owned()), is_changed: true },
            false => self,
        }
    }

    /// As JSON text.
    pub(crate) fn text(&self) -> &str {
        &self.own
    }

    /// The hash of that, for the audit log.
    pub(crate) fn hash(&self) -> Hash {
        Hash::of(self.own.as_bytes())
    }

    /// The same as the rules have left it.
    pub(crate) fn changed(own: String) -> Meta {
        Meta { own, is_changed: true }
    }

    /// What a permission is bound to: nothing if there is nothing but what is other each time.
    pub(crate) fn bound(&self) -> Option<String> {
        match serde_json::from_str::<Members<'_>>(&self.own) {
            Ok(Members(members)) => {
                let bound: Vec<_> = members.into_iter().filter(|(name, _)| !is_counted(name)).collect();
                (!bound.is_empty()).then(|| written(bound.iter().map(|(name, value)| (&**name, *value))))
            }
            Err(_) => Some(self.own.clone()),
        }
    }
}

/// The `_meta` that goes on: `meta`, of which `left` is what is left of the caller's own. `is_allowed` says that a person
/// has allowed the call.
pub(crate) fn onward(meta: Option<Bytes>, left: Option<&Meta>, is_allowed: bool) -> Option<Bytes> {
    let Some(left) = left.filter(|left| left.is_changed || is_allowed) else { return meta };
    let own = if is_allowed { left.bound() } else { Some(left.own.clone()) };
    // What cannot be read is not sent on.
    let Members(all) = serde_json::from_slice(meta.as_deref()?).ok()?;
    let Members(own) = serde_json::from_str(own.as_deref().unwrap_or("{}")).ok()?;
    let protocols = all.into_iter().filter(|(name, value)| is_protocols(name, value));
    let members: Vec<_> = protocols.chain(own).collect();
    Some(written(members.iter().map(|(name, value)| (&**name, *value))).into())
}

fn is_protocols(name: &str, value: &RawValue) -> bool {
    let is_trace = |text: &str| {
        text.len() <= TRACEPARENT_BYTES_MAX
            && text.bytes().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b'-' | b'"'))
    };
    PROTOCOL.contains(&name) || name == TRACEPARENT && is_trace(value.get())
}

fn is_counted(name: &str) -> bool {
    COUNTED.contains(&name) || COUNTED_BEGINNINGS.iter().any(|begins| name.starts_with(begins))
}

/// An object of these members.
pub(crate) fn written<'m>(members: impl Iterator<Item = (&'m str, &'m RawValue)>) -> String {
    let mut out = String::from("{");
    for (nth, (name, value)) in members.enumerate() {
        out.push_str(if nth > 0 { "," } else { "" });
        out.push_str(&serde_json::to_string(name).expect("a name is JSON"));
        out.push(':');
        out.push_str(value.get());
    }
    out.push('}');
    out
}

/// A name, without a copy if it has no escapes.
#[derive(Deserialize)]
pub(crate) struct Name<'m>(#[serde(borrow)] pub(crate) Cow<'m, str>);

/// The members of an object in their order; those that come twice are there twice.
pub(crate) struct Members<'m>(pub(crate) Vec<(Cow<'m, str>, &'m RawValue)>);

impl<'de: 'm, 'm> Deserialize<'de> for Members<'m> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Members<'m>, D::Error> {
        from.deserialize_map(Reading).map(Members)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(Name(name)) = map.next_key()? {
            members.push((name, map.next_value()?));
        }
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODERN: &str =
        r#"{"io.modelcontextprotocol/clientInfo":{"name":"n"},"progressToken":9,"traceparent":"00-1"}"#;

    #[track_caller]
    fn check(meta: &str, own: Option<&str>, bound: Option<&str>) {
        let found = Meta::of(meta.as_bytes());
        assert_eq!(found.as_ref().map(Meta::text), own, "{meta}");
        assert_eq!(found.and_then(|found| found.bound()).as_deref(), bound, "{meta}");
    }

    #[test]
    fn what_is_the_protocols_is_nobodys() {
        check("{}", None, None);
        check(MODERN, None, None);
        check(
            r#"{"x":1.0,"progressToken":9,"x":{"y": 2}}"#,
            Some(r#"{"x":1.0,"x":{"y": 2}}"#),
            Some(r#"{"x":1.0,"x":{"y": 2}}"#),
        );
        check(
            r#"{"traceparent":"all of a file"}"#,
            Some(r#"{"traceparent":"all of a file"}"#),
            Some(r#"{"traceparent":"all of a file"}"#),
        );
        check(
            r#"{"io.modelcontextprotocol/x":1}"#,
            Some(r#"{"io.modelcontextprotocol/x":1}"#),
            Some(r#"{"io.modelcontextprotocol/x":1}"#),
        );
        check(r#"{"vscode.requestId":"a"}"#, Some(r#"{"vscode.requestId":"a"}"#), None);
        check(r#"{"baggage":"k=v","\u0078":1}"#, Some(r#"{"baggage":"k=v","x":1}"#), Some(r#"{"x":1}"#));
        check(r#"{"openai/session":"v1/a","b3":"0"}"#, Some(r#"{"openai/session":"v1/a","b3":"0"}"#), None);
        check("[", Some("["), Some("["));
    }

    #[test]
    fn what_is_other_each_time_is_neither_judged_nor_sent_where_rules_judge() {
        let sent = |meta: &'static str| {
            let own = Meta::of(meta.as_bytes()).map(Meta::uncounted);
            let judged = own.as_ref().map(|own| own.text().to_owned());
            let sent = onward(Some(Bytes::from_static(meta.as_bytes())), own.as_ref(), false);
            (judged.unwrap_or_default(), String::from_utf8(sent.expect("some").to_vec()).expect("text"))
        };
        let claude = r#"{"claudecode/toolUseId":"toolu_01A09q90qw90lq917835lq9k","progressToken":1}"#;
        assert_eq!(sent(claude), ("{}".to_owned(), r#"{"progressToken":1}"#.to_owned()));
        let more = r#"{"x":"y","tracestate":"a=b"}"#;
        assert_eq!(sent(more), (r#"{"x":"y"}"#.to_owned(), r#"{"x":"y"}"#.to_owned()));
        assert_eq!(sent(r#"{"x": "y"}"#), (r#"{"x":"y"}"#.to_owned(), r#"{"x": "y"}"#.to_owned()));
    }

    #[track_caller]
    fn check_onward(meta: &'static str, left: Option<&str>, is_allowed: bool, expected: Option<&str>) {
        let own = left.map(|left| Meta::changed(left.to_owned())).or_else(|| Meta::of(meta.as_bytes()));
        let sent = onward(Some(Bytes::from_static(meta.as_bytes())), own.as_ref(), is_allowed);
        assert_eq!(sent.as_deref().map(|sent| std::str::from_utf8(sent).expect("text")), expected, "{meta}");
    }

    #[test]
    fn what_goes_on_is_what_was_judged() {
        let meta = r#"{"x": 1,"progressToken":9,"baggage":"k=v"}"#;
        check_onward(meta, None, false, Some(meta));
        check_onward(meta, None, true, Some(r#"{"progressToken":9,"x":1}"#));
        check_onward(
            meta,
            Some(r##"{"x":"#","baggage":"#"}"##),
            false,
            Some(r##"{"progressToken":9,"x":"#","baggage":"#"}"##),
        );
        check_onward(MODERN, None, true, Some(MODERN));
        check_onward("[", None, false, Some("["));
        check_onward("[", None, true, None);
        check_onward("[", Some("[]"), false, None);
    }
}

//! `subscriptions/listen` (MCP 2026-07-28, "Subscriptions"): what a client wants to hear of, and the messages that
//! belong to one subscription.

use std::collections::HashSet;

use crate::error::WireError;
use crate::id::Id;
use crate::meta::SUBSCRIPTION_ID;
use crate::object::{self, Object};
use crate::object_writer::ObjectWriter;
use crate::relayed::invalid;
use crate::string::literal;
use crate::text::Text;
use crate::{patch, string, write};

/// Most resources watched by one subscription.
pub const URIS_MAX: usize = 1000;

/// Most tasks watched by one subscription.
pub const TASKS_MAX: usize = 1000;

/// Longest URI or task id watched, in bytes.
pub const WATCHED_BYTES_MAX: usize = 8 * 1024;

/// The first message of every subscription.
pub const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// What a subscription is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// `toolsListChanged`.
    pub tools: bool,
    /// `promptsListChanged`.
    pub prompts: bool,
    /// `resourcesListChanged`.
    pub resources: bool,
    /// `resourceSubscriptions`: URIs, each once, in the order they were given.
    pub uris: Vec<String>,
    /// `taskIds`, of the extension for tasks: each once, in the order they were given.
    pub tasks: Vec<String>,
}

impl Filter {
    /// Reads the parameters of `subscriptions/listen`. Kinds that we do not know are left out.
    ///
    /// # Errors
    /// `InvalidParams` if there is no object `notifications`, a member of it is of the wrong kind, or it watches
    /// more than [`URIS_MAX`] resources or [`TASKS_MAX`] tasks.
    pub fn read(params: Option<&Text>) -> Result<Filter, WireError> {
        let wanted = params.and_then(Text::object).and_then(|params| params.object("notifications"));
        let wanted =
            wanted.ok_or_else(|| invalid("subscriptions/listen needs the object \"notifications\""))?;
        let mut filter = Filter::default();
        for member in wanted.members() {
            match member.key().as_ref() {
                key @ "toolsListChanged" => filter.tools = flag(key, member.value)?,
                key @ "promptsListChanged" => filter.prompts = flag(key, member.value)?,
                key @ "resourcesListChanged" => filter.resources = flag(key, member.value)?,
                key @ "resourceSubscriptions" => filter.uris = strings(key, member.value, URIS_MAX)?,
                key @ "taskIds" => filter.tasks = strings(key, member.value, TASKS_MAX)?,
                _ => {}
            }
        }
        Ok(filter)
    }

    /// Appends the `notifications` object: what is wanted, or what is honoured.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut filter = ObjectWriter::begin(out);
        for (name, is_wanted) in [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ] {
            filter = filter.json(name, is_wanted.then_some("true"));
        }
        for (name, list) in [("resourceSubscriptions", &self.uris), ("taskIds", &self.tasks)] {
            let texts: Vec<String> = list.iter().map(|text| literal(text)).collect();
            let json = format!("[{}]", texts.join(","));
            filter = filter.json(name, Some(&*json).filter(|_| !list.is_empty()));
        }
        filter.end();
    }

    /// The parameters of a `subscriptions/listen` of ours; `meta` is the text of the `_meta` object.
    pub fn write_params(&self, meta: Option<&str>) -> Vec<u8> {
        let mut out = Vec::with_capacity(128);
        let mut params = ObjectWriter::begin(&mut out);
        self.write(params.member("notifications"));
        params.json("_meta", meta).end();
        out
    }
}

fn flag(key: &str, value: &str) -> Result<bool, WireError> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(invalid(&format!("\"{key}\" must be true or false"))),
    }
}

fn strings(key: &str, value: &str, most: usize) -> Result<Vec<String>, WireError> {
    let elements =
        object::elements(value).ok_or_else(|| invalid(&format!("\"{key}\" must be an array of strings")))?;
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for (index, element) in elements.enumerate() {
        if index == most {
            return Err(invalid(&format!("\"{key}\" holds at most {most} entries")));
        }
        let uri = string::decode_if_string(element)
            .ok_or_else(|| invalid(&format!("\"{key}\" must be an array of strings")))?;
        if uri.len() > WATCHED_BYTES_MAX {
            return Err(invalid(&format!("an entry of \"{key}\" is longer than {WATCHED_BYTES_MAX} bytes")));
        }
        if seen.insert(uri.clone()) {
            found.push(uri.into_owned());
        }
    }
    Ok(found)
}

/// The first message of a subscription: what of its wishes is honoured. `id` is that of its request.
pub fn acknowledged(id: &Id, honoured: &Filter) -> Vec<u8> {
    let params = honoured.write_params(Some(&tag(id)));
    let mut out = Vec::with_capacity(params.len() + 96);
    write::notification(&mut out, ACKNOWLEDGED, Some(&params));
    out
}

/// A notification of a subscription: the same parameters with the subscription's id in their `_meta`.
pub fn tagged(method: &str, params: Option<Object<'_>>, id: &Id) -> Vec<u8> {
    let params = match params {
        None => format!("{{\"_meta\":{}}}", tag(id)),
        Some(params) => {
            let meta = match params.object("_meta") {
                Some(meta) => patch::set(meta, SUBSCRIPTION_ID, id.text()),
                None => tag(id),
            };
            patch::set(params, "_meta", &meta)
        }
    };
    let mut out = Vec::with_capacity(params.len() + 96);
    write::notification(&mut out, method, Some(params.as_bytes()));
    out
}

/// The result that ends a subscription in peace.
pub fn ended(id: &Id) -> Vec<u8> {
    let mut out = Vec::with_capacity(160);
    write::result(&mut out, id, format!("{{\"resultType\":\"complete\",\"_meta\":{}}}", tag(id)).as_bytes());
    out
}

fn tag(id: &Id) -> String {
    format!("{{\"{SUBSCRIPTION_ID}\":{}}}", id.text())
}

/// The id of the subscription that a message belongs to: from the parameters of a notification or from a result.
pub fn subscription_of(part: &Text) -> Option<Id> {
    let id = part.object()?.object("_meta")?.get(SUBSCRIPTION_ID)?;
    Id::parse(part, id)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;
    use crate::message::{Frame, Message};

    fn text(json: &str) -> Text {
        Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("a sample is sound")
    }

    fn id(written: &str) -> Id {
        let text = text(written);
        Id::parse(&text, text.as_str()).expect("an id")
    }

    #[track_caller]
    fn check(params: &str, expected: Expect) {
        expected.assert_eq(&match Filter::read(Some(&text(params))) {
            Ok(filter) => {
                let mut out = Vec::new();
                filter.write(&mut out);
                String::from_utf8(out).expect("UTF-8")
            }
            Err(error) => format!("{} {}", error.code.number(), error.message),
        });
    }

    #[test]
    fn filters_are_read_or_refused() {
        check(r#"{"notifications":{}}"#, expect!["{}"]);
        check(
            r#"{"notifications":{"toolsListChanged":true,"promptsListChanged":false,"resourcesListChanged":true,"new":[1]}}"#,
            expect![[r#"{"toolsListChanged":true,"resourcesListChanged":true}"#]],
        );
        check(
            r#"{"notifications":{"taskIds":["t"],"resourceSubscriptions":["b","a","b","\u0061"]}}"#,
            expect![[r#"{"resourceSubscriptions":["b","a"],"taskIds":["t"]}"#]],
        );
        check(
            "{}",
            expect![[r#"-32602 Invalid params: subscriptions/listen needs the object "notifications""#]],
        );
        check(
            r#"{"notifications":{"toolsListChanged":1}}"#,
            expect![[r#"-32602 Invalid params: "toolsListChanged" must be true or false"#]],
        );
        for list in [r#""a""#, "[1]", "{}"] {
            check(
                &format!(r#"{{"notifications":{{"resourceSubscriptions":{list}}}}}"#),
                expect![[r#"-32602 Invalid params: "resourceSubscriptions" must be an array of strings"#]],
            );
        }
        let many = |key: &str, count: usize| {
            let list: Vec<String> = (0..count).map(|n| format!("\"{n}\"")).collect();
            format!(r#"{{"notifications":{{"{key}":[{}]}}}}"#, list.join(","))
        };
        check(
            &many("resourceSubscriptions", URIS_MAX + 1),
            expect![[r#"-32602 Invalid params: "resourceSubscriptions" holds at most 1000 entries"#]],
        );
        check(
            &many("taskIds", TASKS_MAX + 1),
            expect![[r#"-32602 Invalid params: "taskIds" holds at most 1000 entries"#]],
        );
        let most = Filter::read(Some(&text(&many("taskIds", TASKS_MAX)))).expect("the most there may be");
        assert_eq!(most.tasks.len(), TASKS_MAX);
        let long = format!(r#"{{"notifications":{{"taskIds":["{}"]}}}}"#, "x".repeat(WATCHED_BYTES_MAX + 1));
        check(&long, expect![[r#"-32602 Invalid params: an entry of "taskIds" is longer than 8192 bytes"#]]);
        assert!(Filter::read(None).is_err());
    }

    #[test]
    fn messages_carry_the_id_with_its_kind() {
        let filter = Filter { tools: true, ..Filter::default() };
        let shown = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        expect![[r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":"listen:0"}}}"#]].assert_eq(&shown(acknowledged(&id("\"listen:0\""), &filter)));
        expect![[r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":7}}}"#]].assert_eq(&shown(ended(&id("7"))));
        let updated =
            text(r#"{"uri":"a:b", "_meta":{"x":1.0,"io.modelcontextprotocol/subscriptionId":"theirs"}}"#);
        expect![[r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b", "_meta":{"x":1.0,"io.modelcontextprotocol/subscriptionId":7}}}"#]].assert_eq(&shown(tagged(
            "notifications/resources/updated",
            updated.object(),
            &id("7"),
        )));
        expect![[r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"7"}}}"#]].assert_eq(&shown(tagged("notifications/tools/list_changed", None, &id("\"7\""))));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            tools: bool,
            prompts: bool,
            resources: bool,
            uris in prop::collection::hash_set("\\PC{0,6}", 0..4),
            tasks in prop::collection::hash_set("\\PC{0,6}", 0..4),
            id in "\"[a-z0-9]{0,5}\"|0|-?[1-9][0-9]{0,9}",
        ) {
            let (uris, tasks) = (uris.into_iter().collect(), tasks.into_iter().collect());
            let filter = Filter { tools, prompts, resources, uris, tasks };
            let request = Text::check(filter.write_params(Some("{}")).into()).expect("sound");
            prop_assert_eq!(&Filter::read(Some(&request)).expect("sound"), &filter);

            let id = self::id(&id);
            let frame = Frame::parse(acknowledged(&id, &filter).into()).expect("sound");
            let Frame::Single(Message::Notification { method, params: Some(params) }) = frame else {
                panic!("a notification");
            };
            prop_assert_eq!(method, ACKNOWLEDGED);
            prop_assert_eq!(subscription_of(&params), Some(id.clone()));
            prop_assert_eq!(Filter::read(Some(&params)).expect("sound"), filter);

            let frame = Frame::parse(ended(&id).into()).expect("sound");
            let Frame::Single(Message::Response { id: Some(answered), answer: Ok(result) }) = frame else {
                panic!("a result");
            };
            prop_assert_eq!((&answered, subscription_of(&result)), (&id, Some(id.clone())));
        }
    }
}

//! Resource URIs inside of what upstreams answer and list, under other names.
//!
//! Only the URIs change; every other byte stays. Where nothing changes the same bytes are returned.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::edit::{self, Edit};
use crate::object::{Member, Object};
use crate::string;
use crate::text::Text;

/// Which result it is: that says where its URIs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Of `tools/call`: in links to resources and embedded resources among its content.
    CallResult,
    /// Of `resources/read`: at each of its contents.
    ReadResult,
    /// Of `prompts/get`: in the content of its messages.
    PromptResult,
    /// Of `skills/list`, `skills/get` and `resources/directory/read` (MCP Skills extension): at each skill, and at its files or the
    /// folder's.
    SkillResult,
}

/// How the type of a block begins that is a resource or a link to one.
static RESOURCE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"resource"));

/// From the upstream's spelling to ours.
pub type Map<'a> = &'a dyn Fn(&str) -> String;

/// A result with its resource URIs mapped.
pub fn rewrite(result: &Text, kind: Kind, map: Map<'_>) -> Text {
    if !matches!(kind, Kind::ReadResult | Kind::SkillResult) && !may_have_resources(result) {
        return result.clone();
    }
    let whole = result.as_str();
    let edited = match kind {
        Kind::CallResult => edit::member(whole, "content", |content| blocks(content, map)),
        Kind::ReadResult => {
            edit::member(whole, "contents", |all| edit::elements(all, |contents| with_uri(contents, map)))
        }
        Kind::SkillResult => of_skills(whole, map),
        Kind::PromptResult => edit::member(whole, "messages", |all| {
            edit::elements(all, |message| edit::member(message, "content", |content| blocks(content, map)))
        }),
    };
    edited.map_or_else(|| result.clone(), Text::from_checked)
}

/// A result about skills, or one of them.
fn of_skills(written: &str, map: Map<'_>) -> Option<String> {
    edit::members(Object::parse(written)?, |member| match member.key().as_ref() {
        "skills" => Edit::value_or_keep(edit::elements(member.value, |skill| of_skills(skill, map))),
        "skill" => Edit::value_or_keep(of_skills(member.value, map)),
        "resources" => Edit::value_or_keep(edit::elements(member.value, |file| with_uri(file, map))),
        "uri" => Edit::value_or_keep(edit::mapped(member.value, map)),
        _ => Edit::Keep,
    })
}

/// False only if it is certain that no block is a resource or a link to one: its type may be spelt with escapes.
fn may_have_resources(result: &Text) -> bool {
    let bytes = result.as_str().as_bytes();
    RESOURCE.find(bytes).is_some() || string::has_unicode_escape(bytes)
}

/// One block of content, or a list of them.
fn blocks(content: &str, map: Map<'_>) -> Option<String> {
    match content.starts_with('[') {
        true => edit::elements(content, |written| block(written, map)),
        false => block(content, map),
    }
}

fn block(written: &str, map: Map<'_>) -> Option<String> {
    match Object::parse(written)?.string("type")?.as_ref() {
        "resource_link" => with_uri(written, map),
        "resource" => edit::member(written, "resource", |resource| with_uri(resource, map)),
        _ => None,
    }
}

/// An object with its member `uri` mapped.
fn with_uri(written: &str, map: Map<'_>) -> Option<String> {
    edit::member(written, "uri", |uri| edit::mapped(uri, map))
}

/// How the entries of a list are renamed; what has no map stays.
#[derive(Clone, Copy, Default)]
pub struct Maps<'a> {
    /// For `name`: what tools and prompts are called by. Resources are not.
    pub name: Option<Map<'a>>,
    /// For `uri`, and for the resource that shows a tool (`_meta.ui.resourceUri`, or `_meta["ui/resourceUri"]` and
    /// `_meta["openai/outputTemplate"]` as others spell it).
    pub uri: Option<Map<'a>>,
    /// For `uriTemplate`.
    pub template: Option<Map<'a>>,
}

/// An entry of a list (tool, prompt, resource or template) with its names mapped.
pub fn rewrite_list_entry(entry: &Text, maps: Maps<'_>) -> Text {
    let mapped = |member: &Member<'_>, map: Option<Map<'_>>| {
        Edit::value_or_keep(map.and_then(|map| edit::mapped(member.value, map)))
    };
    let edited = entry.object().and_then(|object| {
        edit::members(object, |member| match member.key().as_ref() {
            "name" => mapped(member, maps.name),
            "uri" => mapped(member, maps.uri),
            "uriTemplate" => mapped(member, maps.template),
            "_meta" => Edit::value_or_keep(maps.uri.and_then(|map| ui_meta(member.value, map))),
            _ => Edit::Keep,
        })
    });
    edited.map_or_else(|| entry.clone(), Text::from_checked)
}

/// A tool's `_meta` with the URI of the resource that shows it mapped.
fn ui_meta(meta: &str, map: Map<'_>) -> Option<String> {
    let ui = |ui| edit::member(ui, "resourceUri", |uri| edit::mapped(uri, map));
    edit::members(Object::parse(meta)?, |member| match member.key().as_ref() {
        "ui" => Edit::value_or_keep(ui(member.value)),
        "ui/resourceUri" | "openai/outputTemplate" => Edit::value_or_keep(edit::mapped(member.value, map)),
        _ => Edit::Keep,
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    fn text(json: &str) -> Text {
        Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("a sample is sound")
    }

    fn prefixed(uri: &str) -> String {
        format!("up+{uri}")
    }

    #[track_caller]
    fn check(kind: Kind, before: &str, expected: Expect) {
        let before = text(before);
        let after = rewrite(&before, kind, &prefixed);
        crate::scan::check_text(after.as_str()).expect("sound");
        let same = after.as_str().as_ptr() == before.as_str().as_ptr();
        expected.assert_eq(if same { "=" } else { after.as_str() });
        assert_eq!(rewrite(&before, kind, &str::to_owned), before, "a map that changes nothing");
    }

    #[test]
    fn uris_change_and_all_else_stays() {
        check(
            Kind::CallResult,
            r#"{ "content" : [ {"type":"text","text":"\"resource\" uri"}, {"type":"resource_link", "uri":"a:\u0062","name":"uri"},
                {"type":"resource","resource":{"uri" : "c:d","text":"x"},"uri":"not this"},{"type":"image","uri":"nor this"},7 ], "x":1.0,"uri":"nor that" }"#,
            expect![[r#"
                { "content" : [ {"type":"text","text":"\"resource\" uri"}, {"type":"resource_link", "uri":"up+a:b","name":"uri"},
                                {"type":"resource","resource":{"uri" : "up+c:d","text":"x"},"uri":"not this"},{"type":"image","uri":"nor this"},7 ], "x":1.0,"uri":"nor that" }"#]],
        );
        check(Kind::CallResult, r#"{"content":[{"type":"text","text":"uri"}]}"#, expect!["="]);
        check(
            Kind::CallResult,
            r#"{"content":[{"type":"r\u0065source_link","uri":"a"}]}"#,
            expect![[r#"{"content":[{"type":"r\u0065source_link","uri":"up+a"}]}"#]],
        );
        check(Kind::CallResult, r#"{"contents":[{"uri":"a"}],"messages":[],"y":"resource"}"#, expect!["="]);
        check(
            Kind::ReadResult,
            r#"{"contents":[{"uri":"a:b","text":"t"},{"text":"u"},{"uri":5}]}"#,
            expect![[r#"{"contents":[{"uri":"up+a:b","text":"t"},{"text":"u"},{"uri":5}]}"#]],
        );
        check(
            Kind::PromptResult,
            r#"{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"a:b"}}},{"content":[{"type":"resource_l\u0069nk","uri":"c:d"}]}]}"#,
            expect![[
                r#"{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"up+a:b"}}},{"content":[{"type":"resource_l\u0069nk","uri":"up+c:d"}]}]}"#
            ]],
        );
    }

    #[test]
    fn skills_keep_all_but_their_uris() {
        check(
            Kind::SkillResult,
            r#"{"skills":[{"uri":"skill://a/SKILL.md","frontmatter":{"uri":"x","n":1.0},"resources":[{"uri":"skill://a/SKILL.md","size":5}]},
                {"uri":"b","resources":"dynamic"}],"nextCursor":"uri"}"#,
            expect![[r#"
                {"skills":[{"uri":"up+skill://a/SKILL.md","frontmatter":{"uri":"x","n":1.0},"resources":[{"uri":"up+skill://a/SKILL.md","size":5}]},
                                {"uri":"up+b","resources":"dynamic"}],"nextCursor":"uri"}"#]],
        );
        check(
            Kind::SkillResult,
            r#"{"skill":{"uri":"a","resources":[]},"resources":[{"uri":"b","mimeType":"inode/directory"}]}"#,
            expect![[
                r#"{"skill":{"uri":"up+a","resources":[]},"resources":[{"uri":"up+b","mimeType":"inode/directory"}]}"#
            ]],
        );
    }

    #[test]
    fn entries_are_renamed_where_a_map_says_so() {
        let template = |uri: &str| format!("t+{uri}");
        let name = |name: &str| format!("n_{name}");
        let maps = Maps { name: Some(&name), uri: Some(&prefixed), template: Some(&template) };
        let cases = [
            (
                r#"{"name":"a", "_meta":{"ui":{"resourceUri":"ui://x","csp":{}},"ui/resourceUri":"ui://x"}}"#,
                r#"{"name":"n_a", "_meta":{"ui":{"resourceUri":"up+ui://x","csp":{}},"ui/resourceUri":"up+ui://x"}}"#,
            ),
            (
                r#"{"_meta":{"openai/outputTemplate":"ui://x","openai/widgetAccessible":true}}"#,
                r#"{"_meta":{"openai/outputTemplate":"up+ui://x","openai/widgetAccessible":true}}"#,
            ),
            (r#"{"uri":"a:b","size":1.0}"#, r#"{"uri":"up+a:b","size":1.0}"#),
            (r#"{"uriTemplate":"a:{b}"}"#, r#"{"uriTemplate":"t+a:{b}"}"#),
            (r#"{"_meta":{"ui":5},"uri":null}"#, r#"{"_meta":{"ui":5},"uri":null}"#),
        ];
        for (before, after) in cases {
            assert_eq!(rewrite_list_entry(&text(before), maps).as_str(), after);
            let unchanged = rewrite_list_entry(&text(before), Maps::default());
            assert_eq!(unchanged.as_str(), before);
        }
    }

    proptest! {
        /// Mapping there and back gives the same bytes, if the URIs were spelt the way we spell them.
        #[test]
        fn there_and_back(uris in prop::collection::vec("\\PC{0,8}", 0..4), blank in "[ \n]{0,2}") {
            let block = |uri: &String| format!(
                "{{{blank}\"type\":\"resource\",\"resource\":{blank}{{\"uri\":{},\"n\":1.0}}{blank}}}",
                crate::string::literal(uri),
            );
            let content: Vec<String> = uris.iter().map(block).collect();
            let before = text(&format!("{{\"content\":[{blank}{}{blank}]}}", content.join(",")));
            let there = rewrite(&before, Kind::CallResult, &prefixed);
            let back = rewrite(&there, Kind::CallResult, &|uri| uri.strip_prefix("up+").unwrap_or("lost").to_owned());
            prop_assert_eq!(back, before);
        }
    }
}

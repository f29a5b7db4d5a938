//! What leaves for a client of some revision: without what that revision lacks, with what it demands.
//!
//! An answer that fits already leaves as the same bytes; whether it does is found out by searching, without
//! taking it apart. Which revision has what is said by [`Revision`].

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::edit::{self, Edit};
use crate::meta;
use crate::object::{self, Member, Object};
use crate::patch;
use crate::revision::Revision;
use crate::string::{self, literal};
use crate::text::Text;

/// Members of results that legacy clients do not know, and strict ones refuse.
const MODERN_MEMBERS: [&str; 3] = ["resultType", "ttlMs", "cacheScope"];

/// The same as they are spelt, and what gives away the members of `_meta` that say something of one hop.
static MODERN_KEYS: Words<4> = LazyLock::new(|| {
    ["\"resultType\"", "\"ttlMs\"", "\"cacheScope\"", "\"io.modelcontextprotocol/s"].map(Finder::new)
});
static STRUCTURED_CONTENT: Words<1> = LazyLock::new(|| [Finder::new("\"structuredContent\"")]);
/// The types of blocks that some revisions lack: audio, and links to resources.
static LATER_BLOCKS: Words<2> = LazyLock::new(|| ["\"audio\"", "\"resource_link\""].map(Finder::new));

/// Words that every answer is searched for: making ready to search costs more than to search a small one.
type Words<const N: usize> = LazyLock<[Finder<'static>; N]>;

/// What a modern answer that may be kept says if its author said nothing: keep it for nobody.
const UNSAID_CACHE: [(&str, &str); 2] = [("ttlMs", "0"), ("cacheScope", "\"private\"")];

/// A `Tool` object.
pub fn tool(revision: Revision, tool: &Text) -> Text {
    entry(tool, |member| match member.key().as_ref() {
        "annotations" => !revision.has_annotations(),
        "execution" => !revision.has_execution(),
        "outputSchema" => !fits_as_output_schema(revision, member.value),
        _ => is_decoration_unknown(revision, member),
    })
}

/// A `Prompt`, `Resource` or `ResourceTemplate` object.
pub fn listed(revision: Revision, listed: &Text) -> Text {
    entry(listed, |member| is_decoration_unknown(revision, member))
}

fn entry(entry: &Text, is_unknown: impl Fn(&Member<'_>) -> bool) -> Text {
    let object = entry.object();
    replaced(
        entry,
        object.and_then(|object| edit::members(object, |member| Edit::drop_if(is_unknown(member)))),
    )
}

fn is_decoration_unknown(revision: Revision, member: &Member<'_>) -> bool {
    match member.key().as_ref() {
        "title" | "_meta" => !revision.has_titles(),
        "icons" => !revision.has_icons(),
        _ => false,
    }
}

/// Before 2026-07-28 an output schema describes an object, and clients refuse whole lists over one that does not.
fn fits_as_output_schema(revision: Revision, schema: &str) -> bool {
    let is_of_object =
        || Object::parse(schema).and_then(|object| object.string("type")).as_deref() == Some("object");
    revision.has_any_structure() || (revision.has_structured_content() && is_of_object())
}

/// The result of `tools/call`.
pub fn call_result(revision: Revision, result: &Text) -> Text {
    let Some(object) = legacy_object(revision, result, &*STRUCTURED_CONTENT) else {
        return as_it_is(revision, result);
    };
    let structured = object.get("structuredContent").filter(|value| {
        !revision.has_structured_content() || (!revision.has_any_structure() && !value.starts_with('{'))
    });
    let content = object.get("content").filter(|content| content.starts_with('['));
    let as_text = structured.filter(|value| *value != "null" && !content.is_some_and(has_text_block));
    let edited = edit::members(object, |member| match member.key().as_ref() {
        "structuredContent" => Edit::drop_if(structured.is_some()),
        "content" => Edit::value_or_keep(content_blocks(revision, member.value, as_text)),
        key => legacy_member(key, member),
    });
    let edited = match (as_text, content) {
        // There is no list to add to.
        (Some(as_text), None) => {
            let text = edited.unwrap_or_else(|| object.text().to_owned());
            let content = format!("[{}]", text_block(as_text));
            Object::parse(&text).map(|object| patch::set(object, "content", &content))
        }
        _ => edited,
    };
    replaced(result, edited)
}

/// The result of `prompts/get`.
pub fn prompt_result(revision: Revision, result: &Text) -> Text {
    let Some(object) = legacy_object(revision, result, &[]) else {
        return as_it_is(revision, result);
    };
    let message = |message| {
        edit::members(Object::parse(message)?, |member| match member.key().as_ref() {
            "content" if member.value.starts_with('[') => {
                Edit::value_or_keep(content_blocks(revision, member.value, None))
            }
            "content" => Edit::value_or_keep(block(revision, member.value)),
            _ => Edit::Keep,
        })
    };
    let edited = edit::members(object, |member| match member.key().as_ref() {
        "messages" => Edit::value_or_keep(edit::elements(member.value, message)),
        key => legacy_member(key, member),
    });
    replaced(result, edited)
}

/// The result of `resources/read` or of a list request, entries as they are. What may be kept depends on the caller, so nothing leaves as public.
pub fn read_result(revision: Revision, result: &Text) -> Text {
    if revision.is_modern() { completed(result, &UNSAID_CACHE) } else { legacy(result) }
}

/// The result of `completion/complete`, and of every other request that has no function of its own here.
pub fn complete_result(revision: Revision, result: &Text) -> Text {
    if revision.is_modern() { completed(result, &[]) } else { legacy(result) }
}

/// A result that may have to be changed for a legacy client; nothing for a modern one, nor if it says nothing modern, none
/// of `words` and no block that the revision lacks.
fn legacy_object<'t>(
    revision: Revision,
    result: &'t Text,
    words: &'static [Finder<'_>],
) -> Option<Object<'t>> {
    let unknown = MODERN_KEYS.iter().chain(words).chain(unknown_blocks(revision));
    result.object().filter(|_| !revision.is_modern() && may_say(result, unknown))
}

/// A result of which nothing must go.
fn as_it_is(revision: Revision, result: &Text) -> Text {
    if revision.is_modern() { completed(result, &[]) } else { result.clone() }
}

/// A result without the members that are modern.
fn legacy(result: &Text) -> Text {
    let Some(object) = result.object().filter(|_| may_say(result, &*MODERN_KEYS)) else {
        return result.clone();
    };
    replaced(result, edit::members(object, |member| legacy_member(&member.key(), member)))
}

/// What becomes of a result's member on its way to a legacy client. The upstream's words about itself and its
/// stream in `_meta` end here: they were for us.
fn legacy_member(key: &str, member: &Member<'_>) -> Edit {
    if key != "_meta" {
        return Edit::drop_if(MODERN_MEMBERS.contains(&key));
    }
    let of_one_hop = |member: &Member<'_>| member.is(meta::SERVER_INFO) || member.is(meta::SUBSCRIPTION_ID);
    let Some(object) = Object::parse(member.value) else { return Edit::Keep };
    if object.members().all(|member| of_one_hop(&member)) && object.members().next().is_some() {
        return Edit::Drop;
    }
    Edit::value_or_keep(edit::members(object, |member| Edit::drop_if(of_one_hop(member))))
}

/// A result with its type first, if it has none, and, if it is complete, with what else it must have. A public
/// answer becomes private where `demanded` is not empty.
fn completed(result: &Text, demanded: &[(&str, &str)]) -> Text {
    let Some(object) = result.object() else { return result.clone() };
    let kind = if may_say(result, &MODERN_KEYS[..1]) { object.get("resultType") } else { None };
    let is_complete = kind.is_none_or(|kind| string::decode_if_string(kind).as_deref() == Some("complete"));
    if kind.is_some() && (demanded.is_empty() || !is_complete) {
        return result.clone();
    }
    let mut first = String::new();
    if kind.is_none() {
        first.push_str("\"resultType\":\"complete\",");
    }
    for (key, value) in demanded.iter().filter(|(key, _)| object.get(key).is_none()) {
        first.push_str(&format!("\"{key}\":{value},"));
    }
    let private = if demanded.is_empty() { None } else { made_private(object) };
    if first.is_empty() {
        return replaced(result, private);
    }
    let text = private.as_deref().unwrap_or(object.text());
    if text[1..].trim_start().starts_with('}') {
        first.pop();
    }
    replaced(result, Some(["{", &first, &text[1..]].concat()))
}

fn made_private(object: Object<'_>) -> Option<String> {
    edit::members(object, |member| {
        let is_public = || string::decode_if_string(member.value).as_deref() == Some("public");
        if member.is("cacheScope") && is_public() { Edit::Value(literal("private")) } else { Edit::Keep }
    })
}

/// False only if it is certain that none of `words` is said anywhere: a word may be spelt with escapes.
fn may_say<'w>(text: &Text, words: impl IntoIterator<Item = &'w Finder<'static>>) -> bool {
    let bytes = text.as_str().as_bytes();
    words.into_iter().any(|word| word.find(bytes).is_some()) || string::has_unicode_escape(bytes)
}

fn replaced(text: &Text, by: Option<String>) -> Text {
    by.map_or_else(|| text.clone(), Text::from_checked)
}

/// The types of blocks that the revision lacks, as they are spelt.
fn unknown_blocks(revision: Revision) -> impl Iterator<Item = &'static Finder<'static>> {
    let known = [revision.has_audio(), revision.has_resource_links()];
    LATER_BLOCKS.iter().zip(known).filter(|(_, known)| !known).map(|(kind, _)| kind)
}

fn has_text_block(content: &str) -> bool {
    let is_text =
        |block| Object::parse(block).and_then(|object| object.string("type")).as_deref() == Some("text");
    object::elements(content).is_some_and(|mut blocks| blocks.any(is_text))
}

/// A list of blocks as the revision knows them, with `told` as a block of text behind them.
fn content_blocks(revision: Revision, content: &str, as_text: Option<&str>) -> Option<String> {
    let edited = edit::elements(content, |written| block(revision, written));
    let Some(as_text) = as_text else { return edited };
    let mut text = edited.unwrap_or_else(|| content.to_owned());
    let is_empty = object::elements(&text)?.next().is_none();
    let end = text.rfind(']')?;
    text.insert_str(end, &[if is_empty { "" } else { "," }, &text_block(as_text)].concat());
    Some(text)
}

/// What stands in the place of a block that the revision lacks; nothing if it has it.
fn block(revision: Revision, written: &str) -> Option<String> {
    let block = Object::parse(written)?;
    let text_of = |key| block.string(key).unwrap_or_default();
    match text_of("type").as_ref() {
        "audio" if !revision.has_audio() => Some(text_block(&format!(
            "[audio of the type {:?}: left out, since protocol version {} has none]",
            text_of("mimeType"),
            revision.name()
        ))),
        "resource_link" if !revision.has_resource_links() => {
            let name = if block.get("title").is_some() { text_of("title") } else { text_of("name") };
            let description = text_of("description");
            let pause = if description.is_empty() { "" } else { ": " };
            Some(text_block(&format!("[resource {name}, {}{pause}{description}]", text_of("uri"))))
        }
        _ => None,
    }
}

fn text_block(text: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", literal(text))
}

#[cfg(test)]
mod tests;

//! `ToolFilter`: which of a server's tools are offered, and as what. A tool that nobody asked to change is none of its
//! business and goes past it untouched.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use globset::{Glob, GlobSet, GlobSetBuilder};
use tool_api::Effect;
use wire::message::Text;
use wire::{Object, object, patch, string};

/// Most globs of one list.
const GLOBS_MAX: usize = 1_000;

/// Longest glob, in bytes.
const GLOB_BYTES_MAX: usize = 1_000;

/// What an input schema says of its members outside of `properties` and `required`. Callers could not keep to it where it
/// is about an argument that we add. It goes, and the server still holds what it gets against its own schema.
const OF_MEMBERS: &str = "\
    allOf anyOf oneOf not if then else dependentRequired dependentSchemas dependencies propertyNames const enum default \
    examples minProperties maxProperties unevaluatedProperties";

/// Keywords by which another schema describes the arguments, which cannot be left out.
const REFERENCES: [&str; 2] = ["$ref", "$dynamicRef"];

/// Which of a server's tools are offered, and as what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ToolFilter {
    /// Tools that are offered; all if there is none.
    pub(crate) include: Option<Globs>,
    /// Tools that are not, even if included.
    pub(crate) exclude: Option<Globs>,
    /// What is changed about single tools, by their own names.
    pub(crate) tools: BTreeMap<String, ToolOverride>,
}

/// Globs over names, at most 1,000 of at most 1,000 bytes each.
#[derive(Debug, Clone)]
pub struct Globs {
    written: Box<[String]>,
    set: GlobSet,
}

/// What is changed about one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ToolOverride {
    /// Another name; the prefix comes before it.
    pub(crate) name: Option<String>,
    /// Another description.
    pub(crate) description: Option<String>,
    /// Arguments that we add.
    pub(crate) sent: Option<Arc<Sent>>,
    /// What it does, as the owner knows it.
    pub(crate) effect: Option<Effect>,
}

/// Arguments that are sent whatever the caller says, and those that are sent if it says nothing: names, and
/// values as JSON text.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Sent {
    fixed: Box<[(Box<str>, Box<str>)]>,
    defaults: Box<[(Box<str>, Box<str>)]>,
}

impl Globs {
    /// Compiles globs; `problem` hears of each that cannot be used, with its place in the list.
    pub fn new(written: &[String], mut problem: impl FnMut(usize, String)) -> Globs {
        let mut set = GlobSetBuilder::new();
        for (at, glob) in written.iter().enumerate().take(GLOBS_MAX) {
            match compiled(glob) {
                Ok(glob) => drop(set.add(glob)),
                Err(why) => problem(at, why),
            }
        }
        if written.len() > GLOBS_MAX {
            problem(GLOBS_MAX, format!("there are more than {GLOBS_MAX} entries"));
        }
        let set = set.build().unwrap_or_else(|error| {
            problem(0, format!("cannot be used: {}", error.kind()));
            GlobSet::empty()
        });
        Globs { written: written.into(), set }
    }

    /// True if one of them matches the name.
    pub fn is_match(&self, name: &str) -> bool {
        self.set.is_match(name)
    }

    /// The globs that match no name, each with its place in the list.
    fn idle<'g>(&'g self, names: impl Iterator<Item = &'g str>) -> impl Iterator<Item = (usize, &'g str)> {
        let (mut idle, mut matched) = (vec![true; self.written.len()], Vec::new());
        for name in names {
            self.set.matches_into(name, &mut matched);
            matched.iter().for_each(|&at| idle[at] = false);
        }
        let written = self.written.iter().map(String::as_str).enumerate();
        written.filter(move |&(at, _)| idle[at])
    }
}

fn compiled(glob: &str) -> Result<Glob, String> {
    if glob.is_empty() {
        return Err("is empty; write `*` for everything".to_owned());
    }
    if glob.len() > GLOB_BYTES_MAX {
        return Err(format!("is longer than {GLOB_BYTES_MAX} bytes"));
    }
    Glob::new(glob).map_err(|error| format!("{glob:?} cannot be used: {}", error.kind()))
}

/// What was written says what is matched.
impl PartialEq for Globs {
    fn eq(&self, other: &Globs) -> bool {
        self.written == other.written
    }
}

impl Eq for Globs {}

impl ToolFilter {
    /// True if the tool of this name is offered.
    pub(crate) fn admits(&self, name: &str) -> bool {
        let is_in = |globs: &Option<Globs>| globs.as_ref().map(|globs| globs.is_match(name));
        is_in(&self.include).unwrap_or(true) && !is_in(&self.exclude).unwrap_or(false)
    }

    /// What a person seems to have mistyped: everything here that concerns none of the tools, in sentences that
    /// begin with the key below the server's table.
    pub(crate) fn mistakes(&self, tools: &[(&str, &Text)]) -> Vec<String> {
        let mut mistakes = Vec::new();
        for (key, globs) in [("include", &self.include), ("exclude", &self.exclude)] {
            let names = tools.iter().map(|(name, _)| *name);
            let idle = globs.iter().flat_map(|globs| globs.idle(names.clone()));
            mistakes
                .extend(idle.map(|(at, glob)| format!("{key}[{at}]: {glob:?} matches none of its tools")));
        }
        if self.tools.is_empty() {
            return mistakes;
        }
        let by_name: HashMap<&str, &Text> = tools.iter().copied().collect();
        for (name, reshaped) in &self.tools {
            match by_name.get(name.as_str()) {
                None => mistakes.push(format!("tool.{name}: it has no tool of this name")),
                Some(tool) => mistakes.extend(
                    reshaped
                        .unknown_arguments(tool)
                        .map(|it| format!("tool.{name}: the tool has no argument `{it}`")),
                ),
            }
        }
        mistakes
    }
}

impl ToolOverride {
    /// The tool's definition as it is offered, but for its name; nothing if it stays as it came.
    pub(crate) fn definition(&self, tool: &Text) -> Option<Text> {
        let mut text = Cow::Borrowed(tool.as_str());
        if let Some(description) = &self.description {
            text =
                set(&text, "description", &serde_json::Value::from(description.as_str()).to_string())?.into();
        }
        if let Some(sent) = &self.sent {
            let schema = Object::parse(&text)?.object("inputSchema").map(|schema| sent.schema(schema))?;
            text = set(&text, "inputSchema", &schema)?.into();
        }
        match text {
            Cow::Borrowed(_) => None,
            Cow::Owned(text) => Text::check(Bytes::from(text)).ok(),
        }
    }

    /// Why the tool cannot be offered so, if it cannot.
    pub(crate) fn obstacle(&self, tool: &Text) -> Option<String> {
        let schema = tool.object()?.object("inputSchema")?;
        let has_fixed = self.sent.as_ref().is_some_and(|sent| !sent.fixed.is_empty());
        (has_fixed && REFERENCES.iter().any(|key| schema.get(key).is_some())).then(|| {
            "its schema may describe what `arguments` fixes by a reference, where it cannot be hidden from callers; use \
             `defaults` instead"
                .to_owned()
        })
    }

    /// The arguments that the tool's schema does not name, if it names any.
    fn unknown_arguments<'a>(&'a self, tool: &'a Text) -> impl Iterator<Item = &'a str> {
        let schema = tool.object().and_then(|tool| tool.object("inputSchema"));
        let properties = schema.and_then(|schema| schema.object("properties"));
        let is_known = move |name: &str| properties.is_none_or(|properties| properties.get(name).is_some());
        let sent = self.sent.iter().flat_map(|sent| sent.fixed.iter().chain(&*sent.defaults));
        sent.map(|(name, _)| &**name).filter(move |name| !is_known(name))
    }
}

impl Sent {
    /// Names, and values as JSON text; no name is in both lists.
    pub(crate) fn new(fixed: Vec<(Box<str>, Box<str>)>, defaults: Vec<(Box<str>, Box<str>)>) -> Sent {
        Sent { fixed: fixed.into(), defaults: defaults.into() }
    }

    /// What goes to the server when a caller sends `arguments`, the text of an object.
    pub(crate) fn with<'a>(&self, arguments: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(arguments);
        for (name, value) in &self.fixed {
            text = set(&text, name, value).map_or(text, Cow::Owned);
        }
        for (name, value) in &self.defaults {
            if Object::parse(&text).is_some_and(|object| object.get(name).is_none()) {
                text = set(&text, name, value).map_or(text, Cow::Owned);
            }
        }
        text
    }

    /// The input schema for callers: what is fixed is gone, what has a default says so, neither is required.
    fn schema(&self, schema: Object<'_>) -> String {
        let mut text = schema.text().to_owned();
        if let Some(properties) = schema.object("properties") {
            let properties = self.properties(properties);
            text = set(&text, "properties", &properties).unwrap_or(text);
        }
        let ours: HashSet<&str> = self.fixed.iter().chain(&self.defaults).map(|(name, _)| &**name).collect();
        let is_ours =
            |name: &&str| string::decode_if_string(name).is_some_and(|name| ours.contains(name.as_ref()));
        for key in OF_MEMBERS.split(' ').filter(|key| schema.get(key).is_some()) {
            text = Object::parse(&text).map(|schema| patch::remove(schema, key)).unwrap_or(text);
        }
        let required: Vec<&str> =
            schema.get("required").and_then(object::elements).into_iter().flatten().collect();
        let left: Vec<&str> = required.iter().copied().filter(|name| !is_ours(name)).collect();
        if left.len() == required.len() {
            return text;
        }
        let changed = Object::parse(&text).map(|schema| match left.as_slice() {
            [] => patch::remove(schema, "required"),
            left => patch::set(schema, "required", &format!("[{}]", left.join(","))),
        });
        changed.unwrap_or(text)
    }

    fn properties(&self, properties: Object<'_>) -> String {
        let mut text = properties.text().to_owned();
        for (name, _) in &self.fixed {
            text = Object::parse(&text).map(|properties| patch::remove(properties, name)).unwrap_or(text);
        }
        for (name, value) in &self.defaults {
            let Some(property) = properties.get(name) else { continue };
            let property = match Object::parse(property) {
                Some(property) => patch::set(property, "default", value),
                None if property == "true" => format!("{{\"default\":{value}}}"),
                None => continue,
            };
            text = set(&text, name, &property).unwrap_or(text);
        }
        text
    }
}

/// Names the arguments and not their values, which may be secret.
impl std::fmt::Debug for Sent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        fn names(arguments: &[(Box<str>, Box<str>)]) -> Vec<&str> {
            arguments.iter().map(|(name, _)| &**name).collect()
        }
        f.debug_struct("Sent")
            .field("fixed", &names(&self.fixed))
            .field("defaults", &names(&self.defaults))
            .finish()
    }
}

/// The object in `text` with a member set; nothing if it is none.
fn set(text: &str, key: &str, value: &str) -> Option<String> {
    Object::parse(text).map(|object| patch::set(object, key, value))
}

#[cfg(test)]
mod tests;

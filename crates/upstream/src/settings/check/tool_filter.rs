//! The keys that say which tools are offered, and as what.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::text::May;
use super::{Check, key};
use crate::config::{Config, Tool};
use crate::naming;
use crate::tool_filter::{Globs, Sent, ToolFilter, ToolOverride};
use tool_api::NAME_CHARS_MAX;

/// Said of a file that callers would be shown.
const SHOWN: &str =
    "what stands here is shown to callers, and what this refers to is secret; `arguments` are not shown";

impl Check<'_> {
    pub(super) fn shape(&mut self, config: &Config) -> ToolFilter {
        let include = self.globs("include", &config.include);
        let exclude = self.globs("exclude", &config.exclude);
        let mut named = BTreeMap::new();
        for (own, tool) in &config.tool {
            let Some(name) = &tool.name else { continue };
            if let Some(first) = named.insert(name, own) {
                self.wrong(
                    &format!("tool.{}.name", key(own)),
                    format!("`tool.{}` has this name already", key(first)),
                );
            }
        }
        let tools = config.tool.iter();
        let tools = tools.map(|(own, tool)| (own.clone(), self.reshaped(own, tool))).collect();
        ToolFilter { include, exclude, tools }
    }

    /// The globs of one key, if it has any; each that cannot be used is said with its place in the list.
    pub(super) fn globs(&mut self, key: &str, written: &[String]) -> Option<Globs> {
        if written.is_empty() {
            return None;
        }
        let mut why = Vec::new();
        let globs = Globs::new(written, |at, problem| why.push((format!("{key}[{at}]"), problem)));
        why.into_iter().for_each(|(place, problem)| self.wrong(&place, problem));
        Some(globs)
    }

    fn reshaped(&mut self, own: &str, tool: &Tool) -> ToolOverride {
        let table = format!("tool.{}", key(own));
        if let Some(name) = &tool.name {
            self.tool_name(&format!("{table}.name"), name);
        }
        for argument in tool.defaults.keys().filter(|argument| tool.arguments.contains_key(*argument)) {
            let place = format!("{table}.defaults.{}", key(argument));
            self.wrong(&place, "`arguments` fixes it, so it has no default; keep one");
        }
        let fixed = self.arguments(&format!("{table}.arguments"), &tool.arguments, May::Everything);
        let defaults = self.arguments(&format!("{table}.defaults"), &tool.defaults, May::Variables(SHOWN));
        let sent = (!fixed.is_empty() || !defaults.is_empty()).then(|| Sent::new(fixed, defaults).into());
        ToolOverride {
            name: tool.name.clone(),
            description: tool.description.clone(),
            sent,
            effect: tool.effect,
        }
    }

    fn tool_name(&mut self, place: &str, name: &str) {
        if name.is_empty() {
            self.wrong(place, "must not be empty");
        }
        if !name.chars().all(naming::is_legal) {
            self.wrong(place, "only letters a-z, digits, `_` and `-` may stand in a tool's name");
        }
        if name.chars().count() > NAME_CHARS_MAX {
            self.wrong(place, format!("longer than {NAME_CHARS_MAX} characters"));
        }
    }

    fn arguments(
        &mut self,
        table: &str,
        arguments: &BTreeMap<String, Json>,
        may: May,
    ) -> Vec<(Box<str>, Box<str>)> {
        let argument = |(name, value): (&String, &Json)| {
            let value = self.json(&format!("{table}.{}", key(name)), value, may);
            (name.as_str().into(), value.to_string().into())
        };
        arguments.iter().map(argument).collect()
    }
}

#[cfg(test)]
mod tests;

//! `Lists`: everything that one server lists, read together, and remembered from one run to the next.

use std::sync::Arc;

use bytes::Bytes;
use pins::{Definitions, Sighting, What};
use wire::message::Text;
use wire::string::literal;
use wire::{Revision, patch};

use crate::connection::Era;
use crate::error::ConnectError;
use crate::kind::Kind;
use crate::listing::Listed;

/// What a server lists, and what it says of itself.
#[derive(Debug, Clone)]
pub(crate) struct Lists {
    /// Its `ServerCapabilities` object.
    pub(crate) capabilities: Text,
    /// What it tells models about its use, as it came.
    pub(crate) instructions: Option<Arc<str>>,
    /// Which era it belongs to; nothing if that was not remembered.
    pub(crate) era: Option<Era>,
    /// False if the era should be found out anew next time.
    pub(crate) is_era_certain: bool,
    /// One for each kind, in the order of `Kind::ALL`.
    pub(crate) all: [Arc<Listed>; 4],
    /// What could not be read, and why.
    pub(crate) unread: Vec<(Kind, ConnectError)>,
}

impl Lists {
    /// No list has been read.
    pub(crate) fn none(capabilities: Text, instructions: Option<&str>, era: Option<Era>) -> Lists {
        let all = Kind::ALL.map(|kind| Arc::new(Listed::new(kind)));
        Lists {
            capabilities,
            instructions: instructions.map(Arc::from),
            era,
            is_era_certain: true,
            all,
            unread: Vec::new(),
        }
    }

    /// The list of one kind; empty if the server has none or it could not be read.
    pub(crate) fn of(&self, kind: Kind) -> &Arc<Listed> {
        &self.all[kind as usize]
    }

    /// The same with another list of one kind.
    pub(crate) fn with(&self, listed: Listed) -> Lists {
        let mut lists = self.clone();
        lists.unread.retain(|(kind, _)| *kind != listed.kind);
        let kind = listed.kind;
        lists.all[kind as usize] = Arc::new(listed);
        lists
    }

    /// The same with `before`'s lists where these could not be read.
    pub(crate) fn filled_from(mut self, before: &Lists) -> Lists {
        for &(kind, _) in &self.unread {
            self.all[kind as usize] = before.of(kind).clone();
        }
        self
    }

    /// True if the server says that it has such a list.
    pub(crate) fn has(&self, kind: Kind) -> bool {
        let name = match kind {
            Kind::Tools => "tools",
            Kind::Prompts => "prompts",
            Kind::Resources | Kind::Templates => "resources",
        };
        self.capabilities.object().is_some_and(|all| all.get(name).is_some_and(|value| value != "null"))
    }

    /// How long everything here stays good, in milliseconds; nothing in legacy revisions, which do not say it.
    pub(crate) fn ttl_ms(&self) -> Option<u64> {
        let ttls_ms = Kind::ALL.into_iter().filter(|&kind| self.has(kind)).map(|kind| self.of(kind).ttl_ms);
        let ttl_ms = ttls_ms.min().filter(|_| self.era == Some(Era::Modern))?;
        // Of what was not read in this run it is not known.
        Some(if ttl_ms == u64::MAX { 0 } else { ttl_ms })
    }

    /// Everything as one JSON object, to be remembered.
    pub(crate) fn written(&self) -> String {
        let mut out = String::from("{");
        for kind in Kind::ALL {
            out.push_str(&format!("\"{}\":", kind.member()));
            self.of(kind).write(&mut out);
            out.push(',');
        }
        out.push_str("\"capabilities\":");
        out.push_str(self.capabilities.as_str());
        if let Some(instructions) = &self.instructions {
            out.push_str(&format!(",\"instructions\":{}", literal(instructions)));
        }
        if let Some(era) = self.era.filter(|_| self.is_era_certain) {
            out.push_str(&format!(",\"era\":\"{}\"", era.name()));
        }
        out.push('}');
        out
    }

    /// Reads what was remembered; nothing if it cannot be used. An array is the tools alone, as they were
    /// remembered once.
    pub(crate) fn remembered(text: &str) -> Option<Lists> {
        let is_array = text.trim_start().starts_with('[');
        let whole = if is_array { format!("{{\"tools\":{text}}}") } else { text.to_owned() };
        let whole = Text::check(Bytes::from(whole)).ok()?;
        let object = whole.object()?;
        let capabilities = object.object("capabilities").map(|all| whole.slice(all.text()));
        let capabilities = capabilities.unwrap_or_else(|| nothing_said(r#"{"tools":{}}"#));
        let instructions = object.string("instructions");
        let era = object.string("era").and_then(|name| Era::parse(&name));
        let mut lists = Lists::none(capabilities, instructions.as_deref(), era);
        for kind in Kind::ALL {
            lists = lists.with(Listed::remembered(kind, &whole)?);
        }
        Some(lists)
    }
}

impl Definitions for Lists {
    fn sightings(&self) -> Vec<Sighting<'_>> {
        let of_kind = |kind: Kind| {
            self.of(kind).entries.iter().map(move |entry| Sighting {
                what: kind.item(),
                key: &entry.key,
                text: entry.text.as_str().into(),
                hash: entry.hash(kind).clone(),
            })
        };
        let instructions = self.instructions.as_deref().map(Sighting::of_instructions);
        Kind::ALL.into_iter().flat_map(of_kind).chain(instructions).collect()
    }

    fn complete(&self) -> Vec<What> {
        let is_read = |kind: &Kind| self.unread.iter().all(|(unread, _)| unread != kind);
        Kind::ALL.into_iter().filter(is_read).map(Kind::item).chain([What::Instructions]).collect()
    }

    fn tool_names(&self) -> Vec<String> {
        self.of(Kind::Tools).entries.iter().map(|tool| tool.key.clone()).collect()
    }
}

pub(crate) fn nothing_said(capabilities: &'static str) -> Text {
    Text::check(Bytes::from_static(capabilities.as_bytes())).expect("a constant that is JSON")
}

/// The capabilities with what a server of the first revision could not say: that it completes arguments.
pub(crate) fn completed(capabilities: Text, revision: Revision) -> Text {
    let Some(object) = capabilities.object() else { return capabilities };
    let has_arguments = object.get("prompts").or(object.get("resources")).is_some();
    if revision > Revision::V2024_11_05 || !has_arguments || object.get("completions").is_some() {
        return capabilities;
    }
    Text::check(Bytes::from(patch::set(object, "completions", "{}"))).unwrap_or_else(|_| nothing_said("{}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = r#"{"tools":[{"name":"t",  "inputSchema":{"x":1.0}}],"prompts":[{"name":"p"}],"resources":[{"uri":"a:b"}],"resourceTemplates":[{"uriTemplate":"a:{b}"}],"capabilities":{"tools":{},"prompts":{"listChanged":true},"x":1.50},"instructions":"be \"kind\"\n","era":"modern"}"#;

    #[test]
    fn what_is_remembered_is_written_again_byte_for_byte() {
        let lists = Lists::remembered(ALL).expect("sound");
        assert_eq!(lists.written(), ALL);
        assert_eq!(lists.era, Some(Era::Modern));
        assert_eq!(Kind::ALL.map(|kind| lists.has(kind)), [true, true, false, false]);
        assert_eq!(lists.instructions.as_deref(), Some("be \"kind\"\n"));
    }

    #[test]
    fn tools_alone_are_read_as_they_were_once_remembered() {
        let lists = Lists::remembered(r#" [{"name":"t","inputSchema":{}}]"#).expect("sound");
        assert_eq!(lists.of(Kind::Tools).entries.len(), 1);
        assert!(lists.has(Kind::Tools) && !lists.has(Kind::Prompts) && lists.era.is_none());
    }

    #[test]
    fn what_cannot_be_used_is_not() {
        for junk in ["", "[", "[{\"name\":1}", "null", "5", r#"{"tools":{}}"#, r#"{"tools":[],"tools":[]}"#] {
            assert!(Lists::remembered(junk).is_none(), "{junk}");
        }
    }

    #[test]
    fn everything_is_good_for_as_long_as_the_first_of_it() {
        let mut lists = Lists::remembered(ALL).expect("sound");
        assert_eq!(lists.ttl_ms(), Some(0), "what is remembered is stale");
        for (kind, ttl_ms) in [(Kind::Tools, 50), (Kind::Prompts, 40), (Kind::Resources, 3)] {
            let mut listed = Listed::new(kind);
            listed.ttl_ms = ttl_ms;
            lists = lists.with(listed);
        }
        assert_eq!(lists.ttl_ms(), Some(40), "it says that it has no resources");
        lists.era = Some(Era::Legacy);
        assert_eq!(lists.ttl_ms(), None);
    }
}

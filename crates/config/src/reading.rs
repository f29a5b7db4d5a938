//! What a configuration reads, to be held against how it read before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use crate::load::Loaded;

/// The sections that decide about the upstreams, and take effect when they are read again.
const OF_UPSTREAMS: [&str; 2] = ["mcp", "experimental"];

/// What else takes effect when it is read again; the other sections do at the next start.
const TAKEN_UP: [&str; 12] = [
    "[policy]",
    "[rules]",
    "[limits]",
    "[approvals]",
    "[jobs]",
    "[redaction]",
    "[identity]",
    "[telemetry]",
    "[audit]",
    "[secrets]",
    "[workspaces]",
    "server.open_on_loopback",
];

/// A key that is taken up by itself.
const KEY_APART: [&str; 2] = ["server", "open_on_loopback"];

/// What is written in the sections but those of the upstreams, as `[name]` or `section.key`.
#[derive(Debug, Clone, PartialEq)]
pub struct Sections(BTreeMap<String, Value>);

impl Sections {
    /// Those that read differently in `other`, in the order of their names: the ones that are taken up when they are
    /// read again, or the others.
    pub fn differing(&self, other: &Sections, taken_up: bool) -> Vec<String> {
        let names: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let differs = |name: &&String| {
            TAKEN_UP.contains(&name.as_str()) == taken_up && self.0.get(*name) != other.0.get(*name)
        };
        names.into_iter().filter(differs).cloned().collect()
    }

    /// Those that a workspace holds to from its start, whatever is read later, as text to be compared.
    pub fn of_start(&self) -> String {
        format!("{:?}", ["[tools]", "[workspace]"].map(|name| self.0.get(name)))
    }
}

/// What a configuration came to, to be compared and not shown.
#[derive(Clone, PartialEq)]
pub struct Reading {
    tree: Value,
    secrets: Vec<(Arc<str>, Arc<str>)>,
}

impl Loaded {
    /// What is written in the sections.
    pub fn sections(&self) -> Sections {
        let Value::Object(mut sections) = self.tree.to_json() else { return Sections(BTreeMap::new()) };
        let [section, key] = KEY_APART;
        let keys = sections.get_mut(section).and_then(Value::as_object_mut);
        let apart = keys.and_then(|keys| keys.remove(key)).map(|value| (KEY_APART.join("."), value));
        // A section in which nothing is left says no more than one that is not there.
        sections.retain(|name, section| {
            !OF_UPSTREAMS.contains(&&**name) && section.as_object().is_none_or(|section| !section.is_empty())
        });
        let whole = sections.into_iter().map(|(name, section)| (format!("[{name}]"), section));
        Sections(whole.chain(apart).collect())
    }

    /// All that is written and all that it refers to, to see whether it reads differently than before.
    pub fn reading(&self) -> Reading {
        let secrets = self.settings.secrets.iter().map(|known| (known.name.clone(), known.value.clone()));
        Reading { tree: self.tree.to_json(), secrets: secrets.collect() }
    }
}

//! What the gate knows of a tool, whoever made it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::about::{About, Effect, Need};
use crate::described::{Bounds, Described, StandsFor};
use crate::schema_text::SchemaText;

/// Longest tool name, in characters: the bound of the model providers.
pub const NAME_CHARS_MAX: usize = 64;

/// A tool's name as agents see it: 1 to 64 characters of `A-Z a-z 0-9 _ - .` (MCP 2025-11-25, tool names).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolName(Arc<str>);

impl ToolName {
    /// The name, if it is a legal one.
    pub fn parse(name: &str) -> Option<ToolName> {
        let legal = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        let fits = (1..=NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(legal);
        fits.then(|| ToolName(name.into()))
    }

    /// The name's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name's text, shared.
    pub fn shared(&self) -> Arc<str> {
        self.0.clone()
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a tool is shown in a list.
#[derive(Debug, Clone)]
pub enum Listing {
    /// A tool of ours; the door writes it in the caller's revision.
    Ours(&'static About),
    /// A tool that a person describes in a file; the door writes it likewise.
    Declared(Arc<Described>),
    /// An upstream's tool object as JSON text, byte for byte, under the name offered here.
    Relayed(Bytes),
}

impl Listing {
    /// The arguments that name paths, if the tool says so of itself.
    pub fn paths(&self) -> Option<&'static [&'static str]> {
        match self {
            Listing::Ours(about) => Some(about.arguments.paths),
            Listing::Declared(_) | Listing::Relayed(_) => None,
        }
    }

    /// The arguments that no answer of a person is bound to.
    pub fn remarks(&self) -> &'static [&'static str] {
        match self {
            Listing::Ours(about) => about.arguments.remarks,
            Listing::Declared(_) | Listing::Relayed(_) => &[],
        }
    }

    /// What the tool needs beside its files; what lives elsewhere has its own hands.
    pub fn needs(&self) -> &[Need] {
        match self {
            Listing::Ours(about) => about.needs,
            Listing::Declared(described) => &described.needs,
            Listing::Relayed(_) => &[],
        }
    }

    /// How much less its programs may use than an operator says.
    pub fn bounds(&self) -> Bounds {
        match self {
            Listing::Declared(described) => described.bounds,
            Listing::Ours(_) | Listing::Relayed(_) => Bounds::default(),
        }
    }

    /// The tool that runs in its place, if another does.
    pub fn stands_for(&self) -> Option<&StandsFor> {
        match self {
            Listing::Declared(described) => described.stands_for.as_ref(),
            Listing::Ours(_) | Listing::Relayed(_) => None,
        }
    }

    /// What its programs read beside what all do.
    pub fn reads(&self) -> &[PathBuf] {
        match self {
            Listing::Declared(described) => &described.reads,
            Listing::Ours(_) | Listing::Relayed(_) => &[],
        }
    }
}

/// What kind of tool it is, for policy, rules and records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Part of this program.
    BuiltIn,
    /// Described by a person in a file.
    Declared,
    /// A script that a person has approved.
    Script,
    /// Offered by the MCP server of this name.
    Upstream(Arc<str>),
}

impl Origin {
    /// The server that the tool lives on, if it lives on one.
    pub fn upstream(&self) -> Option<&Arc<str>> {
        match self {
            Origin::Upstream(name) => Some(name),
            Origin::BuiltIn | Origin::Declared | Origin::Script => None,
        }
    }
}

/// How the arguments of a call are held against the tool's schema.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Validate {
    /// As the schema is written.
    Strict,
    /// As a server would read them that turns single values into what it expects.
    #[default]
    Lenient,
    /// Not at all.
    Off,
}

/// How much of a result one answer holds. The rest is in an artifact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResultBudget {
    /// As much as an operator says of all.
    #[default]
    Usual,
    /// So many bytes.
    Bytes(usize),
    /// All of it: the tool pages by itself, or its owner wants it whole.
    Whole,
}

/// A tool as the gate sees it.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The name offered.
    pub name: ToolName,
    /// Where it comes from.
    pub origin: Origin,
    /// One paragraph for people.
    pub description: Arc<str>,
    /// The strongest thing it can do. For an upstream's tool this is our judgement, not its word.
    pub effect: Effect,
    /// True if its maker marks it as destructive.
    pub marked_destructive: bool,
    /// True if it reaches beyond this machine.
    pub open_world: bool,
    /// What a caller must have been given to see it.
    pub scopes: Arc<[Box<str>]>,
    /// How long one call may take.
    pub timeout: Duration,
    /// If progress starts the timeout anew: how long one call may take in all. A shorter one than `timeout` counts as
    /// that.
    pub extends_to: Option<Duration>,
    /// JSON Schema of the arguments, as text.
    pub input_schema: SchemaText,
    /// How they are held against it.
    pub validate: Validate,
    /// JSON Schema of the structured result, as text.
    pub output_schema: Option<SchemaText>,
    /// How much of a result one answer holds.
    pub result_budget: ResultBudget,
    /// How it is shown.
    pub listing: Listing,
}

impl Definition {
    /// The server that the tool lives on, if it lives on one.
    pub fn upstream(&self) -> Option<&str> {
        self.origin.upstream().map(|name| &**name)
    }

    /// Whether it may send something to another machine, beyond asking for what is there. A tool of ours tells the truth of its
    /// effect. A program with a way out may say anything, and so may another server.
    pub fn sends(&self) -> bool {
        let only_asks = match &self.listing {
            Listing::Ours(_) => self.effect == Effect::Reads,
            Listing::Declared(described) => self.effect == Effect::Reads && described.only_asks,
            Listing::Relayed(_) => false,
        };
        self.open_world && !only_asks
    }
}

//! `What`: the kinds of definitions that are pinned.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a definition is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[derive(strum::Display, strum::EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum What {
    /// A tool, by its own name.
    Tool,
    /// A prompt, by its own name.
    Prompt,
    /// A resource, by its own URI.
    Resource,
    /// A resource template, by its own URI template.
    Template,
    /// What the server tells models about its use; there is one, and its key is [`What::WHOLE`].
    Instructions,
}

impl What {
    /// The key of what there is but one of.
    pub const WHOLE: &str = "instructions";
}

//! `What`: the kinds of definitions that are pinned.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a definition is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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

    /// All of them.
    pub const ALL: [What; 5] = [What::Tool, What::Prompt, What::Resource, What::Template, What::Instructions];

    /// Its name, for people and programs.
    pub fn name(self) -> &'static str {
        match self {
            What::Tool => "tool",
            What::Prompt => "prompt",
            What::Resource => "resource",
            What::Template => "template",
            What::Instructions => "instructions",
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for What {
    type Err = ();

    fn from_str(name: &str) -> Result<What, ()> {
        What::ALL.into_iter().find(|what| what.name() == name).ok_or(())
    }
}

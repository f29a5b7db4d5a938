//! What a server's definitions have to pass before they are offered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of a definition (a tool, a prompt, a resource, a resource template, the instructions) that nobody has
/// seen yet, or that has changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Everything is offered as it comes, and a tool that the server marks as reading only counts as one.
    Trust,
    /// What the server has when it is first seen is offered, unless something in it looks like an attack; what
    /// changes or is added later is held back until it is accepted.
    #[default]
    Pin,
    /// Nothing is offered until it is accepted.
    Review,
}

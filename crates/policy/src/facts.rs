//! What a decision is taken from. Whoever asks states the facts; nothing here looks anything up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::Caller;

/// The worst a tool can do, the least severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum Effect {
    /// Changes nothing.
    Reads,
    /// Creates or changes something that can be made good.
    Writes,
    /// Removes or replaces something for good.
    Destroys,
    /// Runs a program, which may do anything its confinement lets it.
    Executes,
}

/// What kind of tool it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum ToolOrigin {
    /// Part of this program.
    BuiltIn,
    /// Described by a person in a file.
    Declared,
    /// A script that a person has approved.
    Script,
    /// Offered by a server.
    Upstream,
}

/// One call, as far as permission is concerned, but for its arguments: a decision that does not depend on them may be
/// remembered for a caller and a tool as long as the policy is the same.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// Who asks.
    pub caller: &'a Caller,
    /// The tool's name as the caller sees it, prefix included.
    pub tool: &'a str,
    /// The upstream that owns the tool; `None` for all others.
    pub upstream: Option<&'a str>,
    /// What kind of tool it is.
    pub origin: ToolOrigin,
    /// What is done, if it is no call of a tool: `resources_read`, `prompts_get`, or another
    /// [`ActionWord`](crate::ActionWord).
    pub action: Option<&'a str>,
    /// What the tool does. Believed of our own tools only.
    pub effect: Effect,
    /// Whether its owner marks the tool destructive. Believed of everyone, since it only tightens.
    pub marked_destructive: bool,
    /// Whether the tool sends anything off this machine. Believed of our own tools only: an upstream goes
    /// where it goes, and adding it was the consent.
    pub leaves_machine: bool,
    /// Whether it may send something there, beyond asking hosts that a person has named for what they have. Believed of our
    /// own tools only, as before.
    pub sends: bool,
}

impl ToolOrigin {
    /// That of a tool of which only its server is known, if it has one.
    pub fn of(upstream: Option<&str>) -> ToolOrigin {
        if upstream.is_some() { ToolOrigin::Upstream } else { ToolOrigin::BuiltIn }
    }

    /// The word for rules.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl Effect {
    /// The word for rules and records.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

//! What a person changes about one tool of a server.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tool_api::Effect;

/// Changes to one tool.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tool {
    /// Another name for it; the prefix comes before it as before any.
    pub name: Option<String>,
    /// Another description, in place of the server's.
    pub description: Option<String>,
    /// Arguments that are always sent as they stand here; callers neither see nor set them.
    pub arguments: BTreeMap<String, Value>,
    /// Arguments that are sent as they stand here unless a caller gives another value.
    pub defaults: BTreeMap<String, Value>,
    /// What it does, as you know it: `"reads"`, `"writes"`, `"destroys"` or `"executes"`. Without it a tool of another server
    /// counts as one that runs programs. Only your own file may say so.
    pub effect: Option<Effect>,
}

// A number of TOML may be a float that is not equal to itself; JSON has none of these.
impl Eq for Tool {}

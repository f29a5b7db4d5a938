//! The `[policy]` section as it is written. What it means is settled when a [`Policy`](crate::Policy) is made of it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::case::Case;
use crate::default_policy::Destructive;
use crate::rule_config::RuleConfig;

/// Who may do what. Your own file, or one that is named, says it; a folder's file can add to `deny` and nothing else.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Tools that run without asking where the default policy asks, as globs over their names, with the server that they
    /// are meant of before them (`built-in` for our own): `["git/git_git_reset"]`. Without a server, an entry is good for
    /// whatever tool has such a name, also one of a server that is added later. It permits nothing that is refused, and answers no question that a rule of yours asks.
    pub allow: Vec<String>,
    /// Tools that never run, as globs over their names, for example `["*_delete_*"]`, with their server before them or
    /// without, as in `allow`. Wins over everything. Those of your own file and of a folder's are both in force.
    pub deny: Vec<String>,
    /// Whether the default policy stands behind your rules. `toolcrib policy show` prints it. Without it, what no rule
    /// permits is refused.
    pub defaults: bool,
    /// Your rules. A rule that denies wins wherever it stands; among all others the first that fits decides.
    /// No two may have the same `id`.
    pub rules: Vec<RuleConfig>,
    /// Calls and what is to come of them, for `toolcrib policy test`.
    // Where defaults are shown, nothing says that there might be some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<Case>,
    /// Servers whose destructive tools ask less often by the default policy, as their own tables say.
    #[serde(skip)]
    pub destructive: BTreeMap<String, Destructive>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            allow: Vec::new(),
            deny: Vec::new(),
            defaults: true,
            rules: Vec::new(),
            tests: Vec::new(),
            destructive: BTreeMap::new(),
        }
    }
}

//! The default policy: rules like any other, behind the user's own.
//!
//! Our own tools tell the truth about themselves, so their effect decides. Of what an upstream says only the warning
//! that a tool destroys counts: a claim to be harmless must loosen nothing.
//!
//! Auditors look, and do nothing else; who has no role goes by the scopes of their key or token alone. Our own tools that
//! execute are confined and without network, since a program that reaches out also leaves the machine. Adding a server
//! granted its tools to the local user; keys and tokens must name the server in a scope.

use crate::rule_config::RuleConfig;

/// The id of the decision when no rule fits.
pub(crate) const NOTHING: &str = "default.nothing";

/// The rules of the default policy, in order.
pub(crate) fn default_rules() -> Vec<RuleConfig> {
    serde_json::from_str(include_str!("../default_policy.json")).expect("tests read it")
}

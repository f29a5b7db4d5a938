//! The default policy: rules like any other, behind the user's own.
//!
//! Our own tools tell the truth about themselves, so their effect decides. Of what an upstream says only the warning
//! that a tool destroys counts: a claim to be harmless must loosen nothing.
//!
//! Asking hosts that a person has named for what they have is reading; whatever else leaves the machine asks. A host that nobody
//! has named is asked about by itself, while the call runs.
//!
//! Auditors look, and do nothing else; who has no role goes by the scopes of their key or token alone. Our own tools that
//! execute are confined and without network, since a program that reaches out also leaves the machine. Adding a server
//! granted its tools to the local user; keys and tokens must name the server in a scope.

use std::collections::BTreeMap;

use crate::engine::{Covers, Verdict};
use crate::rule_config::RuleConfig;

/// The id of the decision when no rule fits.
pub(crate) const NOTHING: &str = "default.nothing";

/// What of a server's name stands in the id of a rule, in characters.
const NAME_CHARS_MAX: usize = 24;

/// How calls of tools that a server marks destructive are treated, where not each of them asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destructive {
    /// One answer counts for a session.
    Session,
    /// Nobody is asked.
    Allow,
}

/// The rules of the default policy, in order: first those for single servers that are treated in their own way.
pub(crate) fn default_rules(destructive: &BTreeMap<String, Destructive>) -> Vec<RuleConfig> {
    let rules: Vec<RuleConfig> =
        serde_json::from_str(include_str!("../default_policy.json")).expect("tests read it");
    let asking: Vec<_> =
        rules.iter().filter(|rule| rule.effect == Verdict::Ask && rule.upstream == ["*"]).cloned().collect();
    let of_servers = destructive
        .iter()
        .flat_map(|(server, how)| asking.iter().map(move |rule| of_server(rule.clone(), server, *how)));
    of_servers.chain(rules).collect()
}

fn of_server(rule: RuleConfig, server: &str, how: Destructive) -> RuleConfig {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = server.chars().map(plain).take(NAME_CHARS_MAX).collect();
    let (id, upstream) = (format!("{}.{name}", rule.id), vec![globset::escape(server)]);
    match how {
        Destructive::Session => RuleConfig { id, upstream, approval_covers: Some(Covers::Session), ..rule },
        Destructive::Allow => RuleConfig { id, upstream, effect: Verdict::Allow, why: None, ..rule },
    }
}

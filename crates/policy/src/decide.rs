//! The decision: the owner's own rules first and last, the default permissions in between.

use globset::GlobSet;

use crate::{
    caller::CallerKind,
    config::{self, Config, ConfigError},
    facts::{Effect, Facts},
};

/// The setting that turns a question into a permission.
const SETTING_ALLOW: &str = "policy.allow";

/// The setting that refuses whatever it names.
const SETTING_DENY: &str = "policy.deny";

/// What is to be done with a call. `rule` is a stable id for the audit book; `why` completes the sentence
/// "the tool NAME …" for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Run it.
    Allow {
        /// The rule that decided.
        rule: &'static str,
    },
    /// Run it if a person agrees.
    Ask {
        /// The rule that decided.
        rule: &'static str,
        /// What a person should know before they agree.
        why: &'static str,
        /// The setting that allows the call without asking.
        setting: &'static str,
    },
    /// Do not run it, whoever agrees.
    Deny {
        /// The rule that decided; here it is also the name of the setting.
        rule: &'static str,
        /// The reason.
        why: &'static str,
    },
}

/// The rules in force. Made once for a configuration; cheap to ask and free of shared state.
#[derive(Debug, Clone)]
pub struct Policy {
    allow: GlobSet,
    deny: GlobSet,
}

impl Policy {
    /// Compiles the rules. Reports every bad entry, not only the first.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let mut problems = Vec::new();
        let allow = config::compile(SETTING_ALLOW, &config.allow, &mut problems);
        let deny = config::compile(SETTING_DENY, &config.deny, &mut problems);
        if problems.is_empty() { Ok(Self { allow, deny }) } else { Err(ConfigError { problems }) }
    }

    /// Decides one call. The same facts give the same decision for the life of this value.
    pub fn decide(&self, facts: &Facts<'_>) -> Decision {
        // A rule against a tool wins over everything that speaks for it.
        if matches(&self.deny, facts.tool) {
            return Decision::Deny { rule: SETTING_DENY, why: "is refused by the configuration" };
        }
        match default_permission(facts) {
            Decision::Ask { .. } if matches(&self.allow, facts.tool) => {
                Decision::Allow { rule: SETTING_ALLOW }
            }
            decision => decision,
        }
    }
}

/// An empty set is asked on every call, so it must cost nothing.
fn matches(globs: &GlobSet, tool: &str) -> bool {
    !globs.is_empty() && globs.is_match(tool)
}

/// The default permissions, one list for each kind of caller.
fn default_permission(facts: &Facts<'_>) -> Decision {
    match (facts.caller.kind(), facts.upstream) {
        (CallerKind::LocalUser, None) => own_tool(facts),
        (CallerKind::LocalUser, Some(_)) => upstream_tool(facts),
    }
}

/// Our own tools tell the truth about themselves, so their effect decides.
fn own_tool(facts: &Facts<'_>) -> Decision {
    if facts.marked_destructive {
        return ask("default.destroys", "destroys something for good");
    }
    if facts.leaves_machine {
        return ask("default.leaves_machine", "sends something off this machine");
    }
    match facts.effect {
        Effect::Reads => Decision::Allow { rule: "default.reads" },
        Effect::Writes => Decision::Allow { rule: "default.writes" },
        Effect::Destroys => ask("default.destroys", "destroys something for good"),
        // Confined and without network, since a program that reaches out also leaves the machine.
        Effect::Executes => Decision::Allow { rule: "default.executes" },
    }
}

/// An upstream's tools were granted when it was added. Of what it says about them only the warning counts:
/// a claim to be harmless must loosen nothing.
fn upstream_tool(facts: &Facts<'_>) -> Decision {
    if facts.marked_destructive {
        return ask("default.upstream_destructive", "is marked destructive by its server");
    }
    Decision::Allow { rule: "default.upstream" }
}

fn ask(rule: &'static str, why: &'static str) -> Decision {
    Decision::Ask { rule, why, setting: SETTING_ALLOW }
}

#[cfg(test)]
mod tests {
    use Effect::{Destroys, Executes, Reads, Writes};

    use super::*;
    use crate::{Caller, Via};

    type Globs = &'static [&'static str];

    /// Writes a decision as its verdict and rule.
    fn told(decision: Decision) -> String {
        match decision {
            Decision::Allow { rule } => format!("allow {rule}"),
            Decision::Ask { rule, setting, .. } => format!("ask {rule} ({setting})"),
            Decision::Deny { rule, .. } => format!("deny {rule}"),
        }
    }

    fn facts<'a>(caller: &'a Caller, tool: &'a str, effect: Effect) -> Facts<'a> {
        Facts { caller, tool, upstream: None, effect, marked_destructive: false, leaves_machine: false }
    }

    fn policy(allow: &[&str], deny: &[&str]) -> Policy {
        let owned = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect();
        Policy::new(&Config { allow: owned(allow), deny: owned(deny) }).unwrap()
    }

    #[test]
    fn default_permissions_of_our_own_tools() {
        let destroys = "ask default.destroys (policy.allow)";
        let leaves = "ask default.leaves_machine (policy.allow)";
        // effect, marked destructive, leaves the machine, expected
        let cases = [
            (Reads, false, false, "allow default.reads"),
            (Writes, false, false, "allow default.writes"),
            (Destroys, false, false, destroys),
            (Executes, false, false, "allow default.executes"),
            (Reads, false, true, leaves),
            (Writes, false, true, leaves),
            (Destroys, false, true, leaves),
            (Executes, false, true, leaves),
            (Reads, true, false, destroys),
            (Writes, true, false, destroys),
            (Destroys, true, false, destroys),
            (Executes, true, false, destroys),
            (Executes, true, true, destroys),
        ];
        let caller = Caller::local_user(Via::Stdio);
        for (effect, marked_destructive, leaves_machine, expected) in cases {
            let facts = Facts { marked_destructive, leaves_machine, ..facts(&caller, "tool", effect) };
            assert_eq!(told(policy(&[], &[]).decide(&facts)), expected, "{facts:?}");
        }
    }

    #[test]
    fn an_upstream_is_believed_only_where_it_warns() {
        let caller = Caller::local_user(Via::Http);
        for effect in [Reads, Writes, Destroys, Executes] {
            for leaves_machine in [false, true] {
                for (marked_destructive, expected) in [
                    (false, "allow default.upstream"),
                    (true, "ask default.upstream_destructive (policy.allow)"),
                ] {
                    let facts = Facts {
                        upstream: Some("git"),
                        marked_destructive,
                        leaves_machine,
                        ..facts(&caller, "git_x", effect)
                    };
                    assert_eq!(told(policy(&[], &[]).decide(&facts)), expected, "{facts:?}");
                }
            }
        }
    }

    #[test]
    fn configured_rules_meet_the_defaults() {
        let asks = "ask default.destroys (policy.allow)";
        // allow, deny, tool, effect, expected
        let cases: [(Globs, Globs, &str, Effect, &str); 12] = [
            (&["git_git_reset"], &[], "git_git_reset", Destroys, "allow policy.allow"),
            (&["git_git_reset"], &[], "git_git_reset_all", Destroys, asks),
            (&["git_*"], &[], "git_git_reset", Destroys, "allow policy.allow"),
            (&["git_*"], &[], "Git_reset", Destroys, asks),
            (&["{a,b}_?"], &[], "b_1", Destroys, "allow policy.allow"),
            (&["*"], &["git_*"], "git_git_reset", Destroys, "deny policy.deny"),
            (&["git_git_reset"], &["*"], "git_git_reset", Destroys, "deny policy.deny"),
            (&[], &["*_read"], "workspace_read", Reads, "deny policy.deny"),
            (&["workspace_*"], &[], "workspace_read", Reads, "allow default.reads"),
            (&[], &["*.delete"], "files/old.delete", Reads, "deny policy.deny"),
            (&[], &["*delete*"], "../delete.", Reads, "deny policy.deny"),
            (&[], &["*"], ".", Reads, "deny policy.deny"),
        ];
        let caller = Caller::local_user(Via::CommandLine);
        for (allow, deny, tool, effect, expected) in cases {
            let decision = policy(allow, deny).decide(&facts(&caller, tool, effect));
            assert_eq!(told(decision), expected, "{tool} with allow {allow:?}, deny {deny:?}");
        }
    }

    #[test]
    fn effects_are_ordered_from_mild_to_severe() {
        assert!(Reads < Writes && Writes < Destroys && Destroys < Executes);
    }
}

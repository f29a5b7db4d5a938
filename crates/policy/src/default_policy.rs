//! The default policy: rules like any other, behind the user's own.
//!
//! Our own tools tell the truth about themselves, so their effect decides. Of what an upstream says only the warning
//! that a tool destroys counts: a claim to be harmless must loosen nothing.

use crate::caller::CallerKind;
use crate::engine::Verdict;
use crate::facts::Effect;
use crate::names::BUILT_IN;
use crate::rule_config::RuleConfig;
use crate::words::RoleWord;

/// The id of the decision when no rule fits.
pub(crate) const NOTHING: &str = "default.nothing";

/// Everybody but those who only look. Who has no role goes by the scopes of their key or token alone.
const ACTING: [RoleWord; 5] =
    [RoleWord::Owner, RoleWord::Maintainer, RoleWord::Developer, RoleWord::Agent, RoleWord::None];

/// The rules of the default policy, in order.
pub fn default_rules() -> Vec<RuleConfig> {
    use Verdict::{Allow, Ask};
    vec![
        ours(Ask, "default.destroys", &[Effect::Destroys], "destroys something for good"),
        RuleConfig {
            leaves_machine: Some(true),
            ..ours(Ask, "default.leaves_machine", &[], "sends something off this machine")
        },
        // Auditors look, too.
        RuleConfig {
            leaves_machine: Some(false),
            roles: Vec::new(),
            ..ours(Allow, "default.reads", &[Effect::Reads], "")
        },
        ours(Allow, "default.writes", &[Effect::Writes], ""),
        // Confined and without network, since a program that reaches out also leaves the machine.
        ours(Allow, "default.executes", &[Effect::Executes], ""),
        // Adding a server granted its tools to the local user.
        local(
            Ask,
            "default.upstream_destructive",
            &[Effect::Destroys],
            "is marked destructive by its server",
        ),
        local(Allow, "default.upstream", &[], ""),
        granted(
            Ask,
            "default.upstream_scope_destructive",
            &[Effect::Destroys],
            "is marked destructive by its server",
        ),
        granted(Allow, "default.upstream_scope", &[], ""),
    ]
}

fn rule(effect: Verdict, id: &str, effects: &[Effect], why: &str) -> RuleConfig {
    let why = (!why.is_empty()).then(|| why.to_owned());
    RuleConfig { effects: effects.to_vec(), why, ..RuleConfig::new(id, effect) }
}

fn ours(effect: Verdict, id: &str, effects: &[Effect], why: &str) -> RuleConfig {
    RuleConfig {
        upstream: vec![BUILT_IN.to_owned()],
        roles: ACTING.to_vec(),
        ..rule(effect, id, effects, why)
    }
}

fn local(effect: Verdict, id: &str, effects: &[Effect], why: &str) -> RuleConfig {
    RuleConfig {
        upstream: vec!["*".to_owned()],
        kinds: vec![CallerKind::LocalUser],
        ..rule(effect, id, effects, why)
    }
}

/// For keys and tokens: those that name the server.
fn granted(effect: Verdict, id: &str, effects: &[Effect], why: &str) -> RuleConfig {
    RuleConfig {
        upstream: vec!["*".to_owned()],
        kinds: vec![CallerKind::Key, CallerKind::Token],
        roles: ACTING.to_vec(),
        scopes: vec!["{upstream}:call".to_owned()],
        ..rule(effect, id, effects, why)
    }
}

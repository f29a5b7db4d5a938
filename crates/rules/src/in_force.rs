//! A rule in force.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::files::Layer;
use crate::finding::Finding;
use crate::rule::{Action, Mode, Rule};

/// A rule in force, and whose it is.
#[derive(Debug, Clone)]
pub(crate) struct InForce {
    pub(crate) rule: Arc<Rule>,
    pub(crate) layer: Layer,
    /// The servers whose calls it may change; any if it is nothing.
    pub(crate) own_servers: Option<BTreeSet<String>>,
}

impl InForce {
    pub(crate) fn finding(&self) -> Finding {
        let rule = &self.rule;
        Finding {
            rule: rule.id.clone(),
            layer: self.layer,
            effect: rule.effect(),
            acts: rule.mode == Mode::Enforce,
        }
    }

    /// Whether it may change calls of this server, or our own.
    pub(crate) fn may_change(&self, upstream: Option<&str>) -> bool {
        self.own_servers.as_ref().is_none_or(|own| upstream.is_some_and(|upstream| own.contains(upstream)))
    }

    /// Notes that it matched, and logs it if it says so. Never with what it matched.
    pub(crate) fn note(&self, tool: &str, findings: &mut Vec<Finding>) {
        let finding = self.finding();
        let (rule, effect) = (&*finding.rule, &*finding.effect);
        match (self.rule.mode, &self.rule.action) {
            (Mode::DryRun, _) => tracing::info!(rule, tool, effect, "an AI rule would have acted"),
            (Mode::Enforce, Action::Warn | Action::Redact { warns: true, .. }) => {
                tracing::warn!(rule, tool, effect, "a call falls under an AI rule");
            }
            (Mode::Enforce | Mode::AuditOnly, _) => {}
        }
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
}

//! May this caller run this tool at all?

use std::sync::Arc;
use std::time::Duration;

use audit::Decided;
use policy::{Caller, Decision, Facts, Obligations, Recorded, Verdict};
use tool_api::{Action, Definition, Effect};

use super::{Check, obeyed};
use crate::failure::Refusal;
use crate::pending::{Pending, Question};
use crate::ruleset::Ruleset;

/// The check.
pub(super) struct PolicyCheck;

impl Check for PolicyCheck {
    fn name(&self) -> &'static str {
        "policy"
    }

    fn check(&self, pending: &mut Pending<'_>, ruleset: &Ruleset) -> Result<(), Refusal> {
        decide(pending, ruleset)
    }
}

/// Decides about the arguments as they are now, and about the files that they name; what was decided about them before they were changed holds besides.
///
/// # Errors
/// They are denied.
pub(super) fn decide(pending: &mut Pending<'_>, ruleset: &Ruleset) -> Result<(), Refusal> {
    by_policy(pending, ruleset)?;
    obeyed::ask(pending);
    Ok(())
}

fn by_policy(pending: &mut Pending<'_>, ruleset: &Ruleset) -> Result<(), Refusal> {
    let facts = facts(pending.caller, pending.offered.definition(), pending.action);
    let decision = ruleset.policy.decide(&facts, pending.arguments.value());
    let before = pending.decision.take();
    if before
        .as_ref()
        .is_some_and(|before| before.rule == decision.rule && before.verdict == decision.verdict)
    {
        pending.decision = before;
        return Ok(());
    }
    let refused = match decision.verdict {
        Verdict::Allow => Ok(()),
        Verdict::Ask => {
            pending.questions.push(Question::of_policy(&decision));
            Ok(())
        }
        Verdict::Deny => Err(Refusal::Denied {
            tool: pending.tool_name(),
            rule: decision.rule.clone(),
            why: decision.why.clone(),
        }),
    };
    let (by, effect) = ("policy", decision.verdict.as_str().into());
    pending.decisions.push(Decided { by, rule: decision.rule.clone(), effect });
    pending.decision = Some(match before {
        Some(before) => both(before, decision),
        None => decision,
    });
    refused
}

/// One decision that asks of the call what two do. It bears the name of the one that leaves it less time.
fn both(before: Decision, now: Decision) -> Decision {
    let time = |decision: &Decision| decision.obligations.timeout_max.unwrap_or(Duration::MAX);
    let (stricter, other) = if time(&now) < time(&before) { (now, before) } else { (before, now) };
    let written = [&stricter, &other].map(|decision| decision.obligations.arguments);
    let arguments = match written {
        [Some(Recorded::Hash), _] | [_, Some(Recorded::Hash)] => Some(Recorded::Hash),
        [one, another] => one.or(another),
    };
    let obligations = Obligations { arguments, ..(*stricter.obligations).clone() };
    Decision { obligations: Arc::new(obligations), ..stricter }
}

/// What the policy is told of a call.
pub fn facts<'a>(caller: &'a Caller, definition: &'a Definition, action: Option<Action>) -> Facts<'a> {
    Facts {
        caller,
        tool: definition.name.as_str(),
        upstream: definition.upstream.as_deref(),
        action: action.map(Action::name),
        effect: match definition.effect {
            Effect::Reads => policy::Effect::Reads,
            Effect::Writes => policy::Effect::Writes,
            Effect::Destroys => policy::Effect::Destroys,
            Effect::Executes => policy::Effect::Executes,
        },
        marked_destructive: definition.marked_destructive,
        leaves_machine: definition.open_world,
    }
}

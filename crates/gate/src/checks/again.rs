//! A call that a person was asked about is judged once more, right before it runs: it may have waited for minutes, and what
//! its arguments name, and what the rules say, need not be what they were.

use super::Check;
use super::policy_check::PolicyCheck;
use super::rules_check::AiRules;
use crate::approvals::STEP;
use crate::failure::Refusal;
use crate::pending::{Pending, Question};
use crate::ruleset::Ruleset;

/// Judges a call by what is in force by now, as it came. Nobody is asked: what has been answered is answered.
///
/// # Errors
/// Which step refuses it, and why: it is denied by now; a rule asks that nobody has answered; or it would run with other
/// arguments than a person has seen.
pub(crate) fn judge_again(
    pending: &mut Pending<'_>,
    then: &Ruleset,
    now: &Ruleset,
) -> Result<(), (&'static str, Refusal)> {
    let mut fresh = pending.as_it_came();
    for check in [&PolicyCheck as &dyn Check, &AiRules] {
        if let Err(refusal) = check.check(&mut fresh, now) {
            pending.decisions = fresh.decisions;
            return Err((check.name(), refusal));
        }
    }
    let roles_are_same = then.approvals.roles == now.approvals.roles;
    let is_answered = |asked: &Question| {
        pending.questions.iter().any(|known| {
            known.rule == asked.rule
                && known.approvers == asked.approvers
                && (roles_are_same || !asked.approvers.is_empty())
        })
    };
    // A link may lead elsewhere by now.
    let is_same_file = fresh.obeyed.iter().all(|file| pending.obeyed.contains(file));
    let is_same = is_same_file
        && fresh.arguments.text() == pending.arguments.text()
        && fresh.answers == pending.answers
        && fresh.beside == pending.beside;
    if !is_same || !fresh.questions.iter().all(is_answered) {
        pending.decisions = fresh.decisions;
        return Err((STEP, Refusal::Outdated { tool: pending.tool_name() }));
    }
    pending.decision = fresh.decision;
    pending.on_result = fresh.on_result;
    Ok(())
}

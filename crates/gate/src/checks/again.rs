//! A call that a person was asked about is judged once more, right before it runs: it may have waited for minutes, and what
//! its arguments name, and what the rules say, need not be what they were.

use audit::Decided;
use policy::Engine;
use rules::Rules;

use super::policy_check::policy;
use super::rules_check::ai_rules;
use crate::candidate::{Candidate, Consent};
use crate::failure::Refusal;

/// Why a call does not run that a person has allowed.
pub(crate) struct Outdated {
    /// The check that refuses it; nothing if the call is another one than was allowed.
    pub(crate) check: Option<&'static str>,
    pub(crate) refusal: Refusal,
    /// The rules that had a say.
    pub(crate) decided: Vec<Decided>,
}

/// Judges a call as it came by what is in force by now. Nobody is asked: what has been answered is answered.
/// `roles_are_same` says whether the roles that answer by default are still those that were asked.
///
/// # Errors
/// It is denied by now; a rule asks that nobody has answered; or it would run with other arguments than a person has seen.
pub(crate) fn judge_again(
    candidate: &mut Candidate,
    (engine, rules): (&dyn Engine, &Rules),
    roles_are_same: bool,
) -> Result<(), Outdated> {
    let mut fresh = candidate.as_it_came();
    let judged = policy(&mut fresh, engine).map_err(|refusal| ("policy", refusal));
    let judged =
        judged.and_then(|()| ai_rules(&mut fresh, rules, engine).map_err(|refusal| ("ai_rules", refusal)));
    if let Err((check, refusal)) = judged {
        return Err(Outdated { check: Some(check), refusal, decided: fresh.judgement.decided });
    }
    let is_answered = |asked: &Consent| {
        candidate.judgement.consents.iter().any(|known| {
            known.rule == asked.rule
                && known.approvers == asked.approvers
                && known.dry_run_first >= asked.dry_run_first
                && (roles_are_same || !asked.approvers.is_empty())
        })
    };
    // A link may lead elsewhere by now.
    let is_same_file = fresh.judgement.obeyed.iter().all(|file| candidate.judgement.obeyed.contains(file));
    let is_same = is_same_file
        && fresh.content.arguments.text() == candidate.content.arguments.text()
        && fresh.content.answers == candidate.content.answers
        && fresh.content.meta == candidate.content.meta;
    if !is_same || !fresh.judgement.consents.iter().all(is_answered) {
        let refusal = Refusal::Outdated(candidate.tool_name());
        return Err(Outdated { check: None, refusal, decided: fresh.judgement.decided });
    }
    candidate.judgement.decision = fresh.judgement.decision;
    candidate.judgement.on_result = fresh.judgement.on_result;
    Ok(())
}

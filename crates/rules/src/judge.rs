//! Judging a call: which rules it falls under, and what follows.

mod judging;

use crate::call::Call;
use crate::in_force::InForce;
use crate::judgement::Judgement;
use crate::names::Declared;
use crate::outcome::OnResult;
use crate::rule::{Action, Mode, Rule};
use judging::Judging;
pub(crate) use judging::Surroundings;

/// Judges a call by rules that concern this project.
pub(crate) fn judge(rules: &[InForce], call: &Call<'_>, surroundings: Surroundings<'_>) -> Judgement {
    let mut judging = Judging::new(call, surroundings, None);
    let mut after: Vec<InForce> = Vec::new();
    for striking in judging.apply(rules, &mut after) {
        judging.strike(striking);
    }
    let Judging { mut judgement, placeholders, .. } = judging;
    if judgement.is_changed() {
        // A call that one rule changes must not walk past another one, so it is judged again as the rules have left it.
        // Nothing changes it once more.
        let made = Call {
            arguments: judgement.arguments.as_ref().unwrap_or(call.arguments),
            answers: judgement.answers.as_deref().or(call.answers),
            meta: judgement.meta.as_deref().or(call.meta),
            ..*call
        };
        let mut judging = Judging::new(&made, surroundings, Some(placeholders));
        // Rules that strike matter for the result alone.
        let _ = judging.apply(rules, &mut after);
        let Judgement { findings, approvals, stop, .. } = judging.judgement;
        add(&mut judgement.findings, findings);
        add(&mut judgement.approvals, approvals);
        judgement.stop = judgement.stop.take().or(stop);
    }
    let declared = || Declared::by(call.output_schema.cloned());
    judgement.on_result = (!after.is_empty())
        .then(|| OnResult::new(call.tool, after, declared(), surroundings.vocabulary.clone()));
    judgement
}

/// Whether a rule about paths that binds is about those of a call.
pub(crate) fn concern_paths(rules: &[InForce], call: &Call<'_>, surroundings: Surroundings<'_>) -> bool {
    let mut judging = Judging::new(call, surroundings, None);
    let acts = |rule: &Rule| match &rule.action {
        Action::OverrideProvider(_) => !surroundings.is_local,
        other => other.binds(),
    };
    let is_about_paths = |rule: &Rule| rule.matches.paths.is_some() || rule.matches.file_types.is_some();
    let mut rules = rules.iter().map(|one| &*one.rule);
    rules.any(|rule| {
        rule.mode == Mode::Enforce
            && acts(rule)
            && is_about_paths(rule)
            && !matches!(judging.concerns(rule), Ok(false))
    })
}

fn add<T: PartialEq>(known: &mut Vec<T>, more: Vec<T>) {
    for one in more {
        if !known.contains(&one) {
            known.push(one);
        }
    }
}

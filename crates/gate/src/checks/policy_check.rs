//! May this caller run this tool at all?

use std::sync::Arc;
use std::time::Duration;

use audit::Decided;
use policy::{Caller, Decision, Engine, Facts, Obligations, Recorded, Verdict};
use tool_api::{Action, Definition, Effect, Origin};

use super::obeyed;
use crate::candidate::{Candidate, Consent};
use crate::failure::{Refusal, Ruling};
use crate::has_dry_run::has_dry_run;

/// Decides about the arguments as they are now, and about the files that they name. What was decided about them before they
/// were changed holds besides.
///
/// # Errors
/// They are denied.
pub(crate) fn policy(candidate: &mut Candidate, engine: &dyn Engine) -> Result<(), Refusal> {
    decide(candidate, engine)?;
    obeyed::ask(candidate);
    Ok(())
}

fn decide(candidate: &mut Candidate, engine: &dyn Engine) -> Result<(), Refusal> {
    let facts = facts(&candidate.caller, candidate.offered.definition(), candidate.action);
    let decision = engine.decide(&facts, candidate.content.arguments.value());
    let judgement = &mut candidate.judgement;
    let before = judgement.decision.take();
    if before
        .as_ref()
        .is_some_and(|before| before.rule == decision.rule && before.verdict == decision.verdict)
    {
        judgement.decision = before;
        return Ok(());
    }
    let definition = candidate.offered.definition();
    let has_dry_run = || candidate.action.is_none() && has_dry_run(definition);
    let verdict = match decision.verdict {
        Verdict::Allow => Ok(()),
        // Nobody can say what it would change, which a person is to see.
        Verdict::Ask if decision.obligations.dry_run_first && !has_dry_run() => {
            let why = "has no dry run, and nobody may be asked about it without one".into();
            let tool = definition.name.to_string();
            Err(Refusal::Denied(Ruling { tool, rule: decision.rule.clone(), why }))
        }
        Verdict::Ask => {
            judgement.consents.push(consent(&decision));
            Ok(())
        }
        Verdict::Deny => {
            let tool = definition.name.to_string();
            Err(Refusal::Denied(Ruling { tool, rule: decision.rule.clone(), why: decision.why.clone() }))
        }
    };
    let (by, effect) = ("policy", decision.verdict.as_str().into());
    judgement.decided.push(Decided { by, rule: decision.rule.clone(), effect });
    judgement.decision = Some(match before {
        Some(before) => both(before, decision),
        None => decision,
    });
    verdict
}

/// What a rule of the policy asks a person.
fn consent(decision: &Decision) -> Consent {
    Consent {
        rule: decision.rule.clone(),
        why: decision.why.clone(),
        approvers: decision.obligations.approvers,
        lasts: decision.obligations.approval_lasts,
        covers: decision.obligations.approval_covers,
        dry_run_first: decision.obligations.dry_run_first,
    }
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
        upstream: definition.upstream(),
        origin: match definition.origin {
            Origin::BuiltIn => policy::ToolOrigin::BuiltIn,
            Origin::Declared => policy::ToolOrigin::Declared,
            Origin::Script => policy::ToolOrigin::Script,
            Origin::Upstream(_) => policy::ToolOrigin::Upstream,
        },
        action: action.map(Action::name),
        effect: match definition.effect {
            Effect::Reads => policy::Effect::Reads,
            Effect::Writes => policy::Effect::Writes,
            Effect::Destroys => policy::Effect::Destroys,
            Effect::Executes => policy::Effect::Executes,
        },
        marked_destructive: definition.marked_destructive,
        leaves_machine: definition.open_world,
        sends: definition.sends(),
    }
}

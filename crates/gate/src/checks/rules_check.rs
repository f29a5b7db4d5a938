//! What do the AI rules say of this call?

mod respell;

use audit::Decided;
use bytes::Bytes;
use policy::{Covers, Engine, Role, Roles};
use rules::{Finding, Judgement, Rules, Stop};
use serde_json::Value;
use tool_api::{Action, Arguments};

use super::policy_check::policy;
use crate::candidate::{Candidate, Consent};
use crate::failure::{Refusal, Ruling};
use crate::meta::Meta;
use crate::tokens::Origin;

/// The AI rules come before the input schema, which then sees the arguments as the rules have made them.
///
/// # Errors
/// A rule forbids the call; or the policy denies what a rule has made of it.
pub(crate) fn ai_rules(candidate: &mut Candidate, rules: &Rules, engine: &dyn Engine) -> Result<(), Refusal> {
    let definition = candidate.offered.definition();
    let content = &candidate.content;
    let mut judged = rules.judge(&rules::Call {
        tool: definition.name.as_str(),
        upstream: definition.upstream(),
        open_world: definition.open_world,
        is_action: candidate.action.is_some(),
        paths: definition.listing.paths().filter(|_| candidate.action.is_none()),
        input_schema: Some(&definition.input_schema),
        output_schema: definition.output_schema.as_deref(),
        arguments: content.arguments.value(),
        begun_with: None,
        answers: content.answers.as_deref().and_then(|answers| std::str::from_utf8(answers).ok()),
        meta: content.meta.as_ref().map(Meta::text),
    });
    if let Some(origin) = &candidate.origin {
        judge_task(&mut judged, origin, candidate, rules);
    }
    let is_changed = judged.arguments.is_some() || judged.answers.is_some() || judged.meta.is_some();
    if is_changed && candidate.original.is_none() {
        candidate.original = Some(Box::new(candidate.content.clone()));
    }
    let tool = candidate.tool_name();
    let Candidate { content, judgement, .. } = candidate;
    judgement.decided.extend(judged.findings.into_iter().map(decided));
    content.answers = judged.answers.map(Bytes::from).or(content.answers.take());
    content.meta = judged.meta.map(Meta::changed).or(content.meta.take());
    // Before it may be refused: the audit log is to hold what the rules leave, too.
    if let Some(value) = judged.arguments {
        let before = &content.arguments;
        let text = respell::respell(before.text(), before.value(), &value);
        let arguments = Arguments::parse(Some(Bytes::from(text)));
        content.arguments = arguments.map_err(|fault| Refusal::unreadable(&tool, &fault))?;
        judgement.is_rewritten = true;
    }
    if let Some(Stop { rule, why }) = judged.stop {
        return Err(Refusal::RuleBlocked(Ruling { tool, rule, why }));
    }
    judgement.consents.extend(judged.approvals.into_iter().map(consent));
    judgement.struck = judged.struck;
    judgement.on_result = judged.on_result;
    // What the policy has let pass was something else.
    if judgement.is_rewritten { policy(candidate, engine) } else { Ok(()) }
}

/// Judges what is done with a task by the rules for the tool whose call it goes on with, too, and for the paths that it
/// named. Its arguments are not those of that call, so rules that change them or look at them do not matter here, and the
/// call has been allowed already.
fn judge_task(judgement: &mut Judgement, origin: &Origin, candidate: &Candidate, rules: &Rules) {
    let definition = candidate.offered.definition();
    let content = &candidate.content;
    let own = judgement.answers.as_deref().map(str::as_bytes).or(content.answers.as_deref());
    let (arguments, begun) = (Value::Object(serde_json::Map::new()), begun_with(origin));
    let place = (definition.upstream(), definition.open_world);
    let more = rules.judge(&rules::Call {
        answers: own.and_then(|answers| std::str::from_utf8(answers).ok()),
        meta: judgement.meta.as_deref().or(content.meta.as_ref().map(Meta::text)),
        ..task_call(&origin.tool, place, &arguments, Some(&begun))
    });
    for finding in more.findings {
        if !judgement.findings.contains(&finding) {
            judgement.findings.push(finding);
        }
    }
    // To stop it is never worse than to let it go on.
    if candidate.action != Some(Action::CancelTask) {
        judgement.stop = judgement.stop.take().or(more.stop);
    }
    // What is told to it now is new.
    if candidate.action == Some(Action::UpdateTask) {
        judgement.approvals.extend(more.approvals);
    }
    judgement.answers = more.answers.or(judgement.answers.take());
    judgement.meta = more.meta.or(judgement.meta.take());
    judgement.struck = judgement.struck.saturating_add(more.struck);
    judgement.on_result = match (judgement.on_result.take(), more.on_result) {
        (Some(own), Some(more)) => Some(own.and(more)),
        (own, more) => own.or(more),
    };
}

/// What is done with a task, as the rules for `tool` see it.
pub(super) fn task_call<'a>(
    tool: &'a str,
    (upstream, open_world): (Option<&'a str>, bool),
    arguments: &'a Value,
    begun_with: Option<&'a Option<Value>>,
) -> rules::Call<'a> {
    rules::Call {
        tool,
        upstream,
        open_world,
        is_action: true,
        paths: None,
        input_schema: None,
        output_schema: None,
        arguments,
        begun_with,
        answers: None,
        meta: None,
    }
}

/// The arguments of the call that a task goes on with; nothing if they are unknown.
pub(super) fn begun_with(origin: &Origin) -> Option<Value> {
    origin.arguments.as_deref().and_then(|text| serde_json::from_str(text).ok())
}

pub(super) fn decided(finding: Finding) -> Decided {
    Decided { by: "ai_rules", rule: finding.rule, effect: finding.effect }
}

fn consent(approval: rules::Approval) -> Consent {
    let known: Roles = approval.roles.iter().filter_map(|role| Role::parse(role)).collect();
    // A role that nobody can hold here must not open the question to more people than were named.
    let is_owners = known.is_empty() && !approval.roles.is_empty();
    let approvers = if is_owners { Role::Owner.into() } else { known };
    let (rule, why) = (approval.rule, approval.why);
    Consent { rule, why, approvers, lasts: None, covers: Covers::Call, dry_run_first: false }
}

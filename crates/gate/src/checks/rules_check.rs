//! What do the AI rules say of this call, and of what it gave?

mod respell;

use std::cell::RefCell;

use audit::Decided;
use bytes::Bytes;
use policy::{Role, Roles};
use rules::{Finding, Judgement, OnResult, Stop, Words};
use serde_json::Value;
use tool_api::{Action, Arguments, Block, Outcome, Payload, ToolError};

use super::{Check, policy_check};
use crate::beside::Beside;
use crate::entry::Entry;
use crate::failure::{Failure, Refusal};
use crate::pending::{Came, Pending, Question};
use crate::ruleset::Ruleset;
use crate::tokens::Origin;

/// The check. It comes before the input schema, which then sees the arguments as the rules have made them.
pub(super) struct AiRules;

impl Check for AiRules {
    fn name(&self) -> &'static str {
        "ai_rules"
    }

    fn check(&self, pending: &mut Pending<'_>, ruleset: &Ruleset) -> Result<(), Refusal> {
        let definition = pending.offered.definition();
        let mut judgement = ruleset.rules.judge(&rules::Call {
            tool: definition.name.as_str(),
            upstream: definition.upstream.as_deref(),
            open_world: definition.open_world,
            is_action: pending.action.is_some(),
            paths: definition.listing.paths().filter(|_| pending.action.is_none()),
            input_schema: Some(&definition.input_schema),
            output_schema: definition.output_schema.as_ref(),
            arguments: pending.arguments.value(),
            begun_with: None,
            answers: pending.answers.as_deref().and_then(|answers| std::str::from_utf8(answers).ok()),
            meta: pending.beside.as_ref().map(Beside::text),
        });
        if let Some(origin) = &pending.origin {
            of_task(&mut judgement, origin, pending, ruleset);
        }
        pending.decisions.extend(judgement.findings.into_iter().map(decided));
        let is_changed =
            judgement.arguments.is_some() || judgement.answers.is_some() || judgement.meta.is_some();
        if is_changed && pending.came.is_none() {
            let (arguments, answers) = (pending.arguments.clone(), pending.answers.clone());
            pending.came = Some(Box::new(Came { arguments, answers, beside: pending.beside.clone() }));
        }
        pending.answers = judgement.answers.map(Bytes::from).or(pending.answers.take());
        pending.beside = judgement.meta.map(Beside::changed).or(pending.beside.take());
        // Before it may be refused: the audit log is to hold what the rules leave, too.
        if let Some(value) = judgement.arguments {
            let before = &pending.arguments;
            let text = respell::respell(before.text(), before.value(), &value);
            let arguments = Arguments::parse(Some(Bytes::from(text)));
            pending.arguments =
                arguments.map_err(|fault| Refusal::unreadable(&pending.tool_name(), &fault))?;
            pending.is_rewritten = true;
        }
        if let Some(Stop { rule, why }) = judgement.stop {
            return Err(Refusal::RuleBlocked { tool: pending.tool_name(), rule, why });
        }
        pending.questions.extend(judgement.approvals.into_iter().map(question));
        pending.struck = judgement.struck;
        pending.on_result = judgement.on_result;
        // What the policy has let pass was something else.
        if pending.is_rewritten { policy_check::decide(pending, ruleset) } else { Ok(()) }
    }
}

/// Judges what is done with a task by the rules for the tool whose call it goes on with, too, and for the paths that it
/// named. Its arguments are not those of that call, so rules that change them or look at them do not matter here, and the
/// call has been allowed already.
fn of_task(judgement: &mut Judgement, origin: &Origin, pending: &Pending<'_>, ruleset: &Ruleset) {
    let definition = pending.offered.definition();
    let own = judgement.answers.as_deref().map(str::as_bytes).or(pending.answers.as_deref());
    let begun = begun_with(origin);
    let more = ruleset.rules.judge(&rules::Call {
        tool: &origin.tool,
        upstream: definition.upstream.as_deref(),
        open_world: definition.open_world,
        is_action: true,
        paths: None,
        input_schema: None,
        output_schema: None,
        arguments: &Value::Object(serde_json::Map::new()),
        begun_with: Some(&begun),
        answers: own.and_then(|answers| std::str::from_utf8(answers).ok()),
        meta: judgement.meta.as_deref().or(pending.beside.as_ref().map(Beside::text)),
    });
    for finding in more.findings {
        if !judgement.findings.contains(&finding) {
            judgement.findings.push(finding);
        }
    }
    // To stop it is never worse than to let it go on.
    if pending.action != Some(Action::CancelTask) {
        judgement.stop = judgement.stop.take().or(more.stop);
    }
    // What is told to it now is new.
    if pending.action == Some(Action::UpdateTask) {
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

/// The arguments of the call that a task goes on with; nothing if they are unknown.
pub(super) fn begun_with(origin: &Origin) -> Option<Value> {
    origin.arguments.as_deref().and_then(|text| serde_json::from_str(text).ok())
}

pub(super) fn decided(finding: Finding) -> Decided {
    Decided { by: "ai_rules", rule: finding.rule, effect: finding.effect }
}

fn question(approval: rules::Approval) -> Question {
    let known: Roles = approval.roles.iter().filter_map(|role| Role::parse(role)).collect();
    // A role that nobody can hold here must not open the question to more people than were named.
    let is_owners = known.is_empty() && !approval.roles.is_empty();
    let approvers = if is_owners { Role::Owner.into() } else { known };
    Question { rule: approval.rule, why: approval.why, approvers, lasts: None }
}

/// Holds what a call gave against the rules that concern it, and notes what they said.
///
/// # Errors
/// A rule withholds it; or the failure that it was, without what the rules strike out.
pub(crate) fn judge_result(
    on_result: Option<OnResult>,
    result: Result<Outcome, Failure>,
    entry: &mut Entry<'_>,
) -> Result<Outcome, Failure> {
    let Some(mut on_result) = on_result else { return result };
    let result = match result {
        Ok(outcome) => Ok(Outcome { payload: payload(&mut on_result, outcome.payload), ..outcome }),
        Err(Failure::Tool(error)) => {
            let on_result = RefCell::new(&mut on_result);
            let reword = |text: &str| on_result.borrow_mut().text(text).unwrap_or_else(|| text.to_owned());
            Err(Failure::Tool(error.reworded(reword)))
        }
        Err(failure @ (Failure::Refused(_) | Failure::Internal(_))) => Err(failure),
    };
    let Words { findings, stop, struck } = on_result.end();
    findings.into_iter().map(decided).for_each(|decided| entry.decided(decided));
    entry.redacted(struck);
    match stop {
        None => result,
        Some(Stop { rule, why }) => {
            let message = format!(
                "the call ran, and its result is withheld: it {why} (rule {rule}); do not try to get at it in another way"
            );
            let details = serde_json::json!({ "rule": &*rule });
            Err(ToolError::new("rule_blocked", message).with_details(details).into())
        }
    }
}

fn payload(on_result: &mut OnResult, payload: Payload) -> Payload {
    match payload {
        Payload::Ours { blocks, structured } => {
            let blocks = blocks.into_iter().map(|one| block(on_result, one)).collect();
            let structured = structured.map(|json| match on_result.structured(&json) {
                Some(left) => left.into(),
                None => json,
            });
            Payload::Ours { blocks, structured }
        }
        Payload::Relayed { result, structured } => {
            let structured = structured.map(|json| match on_result.structured(&json) {
                Some(left) => left.into(),
                None => json,
            });
            Payload::Relayed { result: message(on_result, result), structured }
        }
        Payload::InputRequired { requests, state, hold } => {
            let requests = requests.map(|requests| message(on_result, requests));
            Payload::InputRequired { requests, state, hold }
        }
        Payload::Task { result, id } => Payload::Task { result: message(on_result, result), id },
    }
}

fn message(on_result: &mut OnResult, json: Bytes) -> Bytes {
    match on_result.message(&json) {
        Some(left) => left.into(),
        None => json,
    }
}

fn block(on_result: &mut OnResult, block: Block) -> Block {
    match block {
        Block::Text(text) => Block::Text(on_result.text(&text).unwrap_or(text)),
        Block::Image { mime, bytes } => {
            let bytes = on_result.bytes(&bytes).unwrap_or(bytes);
            Block::Image { mime, bytes }
        }
        Block::Audio { mime, bytes } => {
            let bytes = on_result.bytes(&bytes).unwrap_or(bytes);
            Block::Audio { mime, bytes }
        }
        Block::Blob { uri, mime, bytes } => {
            let bytes = on_result.bytes(&bytes).unwrap_or(bytes);
            Block::Blob { uri, mime, bytes }
        }
    }
}

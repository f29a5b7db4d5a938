//! What do the AI rules say of what a call gave?

use std::cell::RefCell;

use audit::Decided;
use bytes::Bytes;
use rules::{OnResult, Stop, Words};
use tool_api::{Artifact, Block, Outcome, Payload, ToolError};

use super::rules_check::decided;
use crate::failure::Failure;

/// What the AI rules found, for the record.
#[derive(Default)]
pub(crate) struct Findings {
    /// The rules that had a say.
    pub(crate) decided: Vec<Decided>,
    /// How many places they struck out.
    pub(crate) struck: u32,
}

impl Findings {
    /// Parts the findings from the rule that withholds what was judged, if one does.
    pub(super) fn of(words: Words) -> (Findings, Option<Stop>) {
        let Words { findings, stop, struck } = words;
        (Findings { decided: findings.into_iter().map(decided).collect(), struck }, stop)
    }
}

/// Holds what a call gave against the rules that concern it: what is left of it, or that a rule withholds it.
pub(crate) fn judge_result(
    on_result: Option<OnResult>,
    result: Result<Outcome, Failure>,
) -> (Result<Outcome, Failure>, Findings) {
    let Some(mut on_result) = on_result else { return (result, Findings::default()) };
    let result = match result {
        Ok(mut outcome) => {
            // Programs say what their artifacts are called.
            for Artifact { name, .. } in &mut outcome.artifacts {
                *name = on_result.text(name).unwrap_or_else(|| std::mem::take(name));
            }
            Ok(Outcome { payload: payload(&mut on_result, outcome.payload), ..outcome })
        }
        Err(Failure::Tool(error)) => {
            let on_result = RefCell::new(&mut on_result);
            let reword = |text: &str| on_result.borrow_mut().text(text).unwrap_or_else(|| text.to_owned());
            Err(Failure::Tool(error.reworded(reword)))
        }
        Err(failure @ (Failure::Refused(_) | Failure::Internal(_))) => Err(failure),
    };
    let (findings, stop) = Findings::of(on_result.end());
    let result = match stop {
        None => result,
        Some(Stop { rule, why }) => {
            let message = format!(
                "the call ran, and its result is withheld: it {why} (rule {rule}); do not try to get at it in another way"
            );
            let details = serde_json::json!({ "rule": &*rule });
            Err(ToolError::new("rule_blocked", message).with_details(details).into())
        }
    };
    (result, findings)
}

fn payload(on_result: &mut OnResult, payload: Payload) -> Payload {
    match payload {
        Payload::Ours { blocks, structured } => {
            let blocks = blocks.into_iter().map(|one| block(on_result, one)).collect();
            Payload::Ours { blocks, structured: structured.map(|json| structure(on_result, json)) }
        }
        Payload::Relayed { result, structured } => {
            let structured = structured.map(|json| structure(on_result, json));
            Payload::Relayed { result: message(on_result, result), structured }
        }
        Payload::InputRequired { requests, state, hold } => {
            let requests = requests.map(|requests| message(on_result, requests));
            Payload::InputRequired { requests, state, hold }
        }
        Payload::Task { result, id } => Payload::Task { result: message(on_result, result), id },
    }
}

fn structure(on_result: &mut OnResult, json: Bytes) -> Bytes {
    on_result.structured(&json).map_or(json, Bytes::from)
}

fn message(on_result: &mut OnResult, json: Bytes) -> Bytes {
    on_result.message(&json).map_or(json, Bytes::from)
}

fn block(on_result: &mut OnResult, mut block: Block) -> Block {
    match &mut block {
        Block::Text(text) => *text = on_result.text(text).unwrap_or_else(|| std::mem::take(text)),
        Block::Image { bytes, .. } | Block::Audio { bytes, .. } | Block::Blob { bytes, .. } => {
            *bytes = on_result.bytes(bytes).unwrap_or_else(|| std::mem::take(bytes));
        }
    }
    block
}

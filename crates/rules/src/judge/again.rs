//! What the rules have made of a call is judged as if it had come so: a call that one rule changes must not walk past
//! another one. It is not changed again.

use std::sync::Arc;

use super::{Call, InForce, Judgement, Judging};
use crate::workspace::Workspace;

/// What is looked at in the place of a placeholder: no rule looks for it.
const NOTHING: char = '\u{fffd}';

/// Adds what every rule says of the arguments, answers and what is sent beside them as the rules have left them.
pub(super) fn judge(
    rules: &[InForce],
    call: &Call<'_>,
    (is_local, workspace): (bool, &Workspace),
    (judgement, after): (&mut Judgement, &mut Vec<InForce>),
    placeholders: Vec<Arc<str>>,
) {
    let made = Call {
        arguments: judgement.arguments.as_ref().unwrap_or(call.arguments),
        answers: judgement.answers.as_deref().or(call.answers),
        meta: judgement.meta.as_deref().or(call.meta),
        ..*call
    };
    let mut judging = Judging { placeholders, is_made: true, ..Judging::new(&made, is_local, workspace) };
    // What would strike is heard for the result alone.
    let _ = judging.hear(rules, after);
    let said = judging.judgement;
    for finding in said.findings {
        if !judgement.findings.contains(&finding) {
            judgement.findings.push(finding);
        }
    }
    for approval in said.approvals {
        if !judgement.approvals.contains(&approval) {
            judgement.approvals.push(approval);
        }
    }
    judgement.stop = judgement.stop.take().or(said.stop);
}

/// The text without what our own hand has put there.
pub(super) fn without(text: &str, ours: &str) -> String {
    let written = serde_json::to_string(ours).expect("text is JSON");
    text.replace(&written[1..written.len() - 1], &NOTHING.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_is_taken_out_of_json_as_it_is_written_there() {
        assert_eq!(without(r#"{"a":"x [\"S\"] y"}"#, "[\"S\"]"), "{\"a\":\"x \u{fffd} y\"}");
    }
}

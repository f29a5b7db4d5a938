//! Cleaning a result, once, for the caller and the audit log alike: AI rules, output schema, size budget, redaction; and
//! cutting what is left, so that whoever reads on reads nothing that was not cleaned.

use bytes::Bytes;
use redact::Redactor;
use rules::OnResult;
use serde_json::Value;
use tool_api::{Origin, Outcome, Payload, ToolError, Validate};

use crate::checks::{Findings, judge_result};
use crate::failure::Failure;
use crate::offer::Offered;
use crate::redaction::strike;
use crate::schema::{Misfit, Violation};

/// Largest result handed out, in bytes of content before encoding. A frame holds it even after base64.
pub const RESULT_BYTES_MAX: usize = 32 * 1024 * 1024;

/// The code of a result that one answer does not hold.
pub(crate) const TOO_LARGE: &str = "result_too_large";

/// The code of a result that breaks its tool's own promise.
const INVALID_OUTPUT: &str = "invalid_output";

/// What came of a call, fit to leave.
pub(crate) struct Cleaned {
    pub(crate) result: Result<Outcome, Failure>,
    /// False if what the tool gave breaks its own promise.
    pub(crate) is_sound: bool,
    /// What the AI rules found in it.
    pub(crate) findings: Findings,
    /// How many secrets were struck out.
    pub(crate) redacted: u32,
    /// What a tool that people have described gave, without secrets, if that breaks its own promise.
    pub(crate) broken: Option<Bytes>,
}

/// Cleans what a call gave. `on_result` are the AI rules that concern it.
pub(crate) fn clean(
    offered: &Offered,
    on_result: Option<OnResult>,
    redactor: &Redactor,
    result: Result<Outcome, Failure>,
) -> Cleaned {
    let (result, findings) = judge_result(on_result, result);
    let (mut is_sound, mut broken) = (true, None);
    let result = result.and_then(|outcome| {
        let checked = check(offered, &outcome);
        is_sound = checked.is_ok();
        match checked {
            Ok(()) => Ok(outcome),
            Err(error) => {
                broken = structured_of(offered, outcome);
                Err(Failure::from(error))
            }
        }
    });
    let (result, redacted) = strike(redactor, result);
    let broken = broken.map(|text| redactor.json(&text).map_or(text, |struck| struck.bytes));
    Cleaned { result, is_sound, findings, redacted, broken }
}

/// What a tool gave that people have described, as the value that it is. Others' are for their makers to look into.
fn structured_of(offered: &Offered, outcome: Outcome) -> Option<Bytes> {
    match outcome.payload {
        Payload::Ours { structured, .. } if offered.definition().origin == Origin::Declared => structured,
        _ => None,
    }
}

/// Checks a result against the tool's output schema and the size budget. One that breaks its own promise would make a strict
/// client fail in a place where nobody sees why; the model gets told instead.
fn check(offered: &Offered, outcome: &Outcome) -> Result<(), ToolError> {
    let bytes = outcome.payload.bytes();
    if bytes > RESULT_BYTES_MAX {
        let message = format!(
            "the result has {bytes} bytes; at most {RESULT_BYTES_MAX} can be handed out: ask for less at once"
        );
        return Err(ToolError::new(TOO_LARGE, message));
    }
    if outcome.is_error { Ok(()) } else { check_output(offered, outcome) }
}

fn check_output(offered: &Offered, outcome: &Outcome) -> Result<(), ToolError> {
    let Some(schema) = offered.output_schema() else { return Ok(()) };
    let invalid = |why: String| {
        let message =
            format!("`{}` gave a result that breaks its own output schema:{why}", offered.definition().name);
        ToolError::new(INVALID_OUTPUT, message)
    };
    let schema = match (schema, offered.definition().validate) {
        (Ok(schema), _) => schema,
        (Err(why), Validate::Strict) => return Err(invalid(format!(" the schema cannot be used: {why}"))),
        (Err(why), Validate::Lenient | Validate::Off) => {
            let tool = &offered.definition().name;
            tracing::debug!(%tool, %why, "a result is not checked: its output schema cannot be used");
            return Ok(());
        }
    };
    let structured = match &outcome.payload {
        Payload::Ours { structured, .. } | Payload::Relayed { structured, .. } => structured.as_deref(),
        // The result is still to come.
        Payload::InputRequired { .. } | Payload::Task { .. } => return Ok(()),
    };
    let text = structured.ok_or_else(|| invalid(" it has no structured content".into()))?;
    let value: Value = serde_json::from_slice(text).map_err(|error| invalid(format!(" {error}")))?;
    match schema.check(&value) {
        Ok(()) => Ok(()),
        Err(Misfit::Wrong(violations)) => Err(invalid(Violation::lines(&violations))),
        // Schema and value are both the tool's own word, so a check that has no end keeps nobody from anything; what must
        // not pass is for the rules and the policy to say.
        Err(Misfit::Undecided(_)) => {
            let tool = &offered.definition().name;
            tracing::warn!(%tool, "a result takes too many steps to be checked against its output schema; it passes unchecked");
            Ok(())
        }
    }
}

//! Do the arguments fit the tool's input schema?

use tool_api::Validate;

use crate::candidate::Candidate;
use crate::failure::Refusal;

/// # Errors
/// They do not fit, or the schema cannot be used and is to be kept to as it is written.
pub(crate) fn input_schema(candidate: &Candidate) -> Result<(), Refusal> {
    let tool = || candidate.tool_name();
    let validate = candidate.offered.definition().validate;
    if validate == Validate::Off {
        return Ok(());
    }
    let value = candidate.content.arguments.value();
    let checked = match (candidate.offered.input_schema(), validate) {
        (Ok(schema), Validate::Strict) => schema.check(value),
        (Ok(schema), Validate::Lenient | Validate::Off) => schema.check_leniently(value),
        (Err(why), Validate::Strict) => {
            return Err(Refusal::UnusableSchema { tool: tool(), why: why.to_owned() });
        }
        // Every other client works with such a tool, and its server checks what it gets. The log has said it.
        (Err(_), Validate::Lenient | Validate::Off) => Ok(()),
    };
    checked.map_err(|misfit| Refusal::InvalidArguments { tool: tool(), violations: misfit.violations() })
}

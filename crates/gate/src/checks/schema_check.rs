//! Do the arguments fit the tool's input schema?

use serde_json::Value;
use tool_api::{Definition, Origin, Validate};

use crate::candidate::Candidate;
use crate::failure::Refusal;
use crate::offer::Offered;

/// # Errors
/// They do not fit, or the schema cannot be used and is to be kept to as it is written.
pub(crate) fn input_schema(candidate: &Candidate) -> Result<(), Refusal> {
    fits_schema(&candidate.offered, candidate.content.arguments.value())
}

/// The same of arguments that nobody calls with.
pub(crate) fn fits_schema(offered: &Offered, value: &Value) -> Result<(), Refusal> {
    let Definition { name, validate, .. } = offered.definition();
    let (tool, validate) = (|| name.to_string(), *validate);
    if validate == Validate::Off {
        return Ok(());
    }
    let checked = match (offered.input_schema(), validate) {
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

/// What arguments mean that do not fit, where that can be one thing alone. What servers and programs of a user's own are sent is theirs
/// to read.
pub(crate) fn meant(offered: &Offered, value: &Value) -> Option<Value> {
    let is_ours = offered.definition().origin == Origin::BuiltIn;
    offered.input_schema().ok().filter(|_| is_ours)?.meant(value)
}

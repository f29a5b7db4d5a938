//! Do the arguments fit the tool's input schema?

use crate::candidate::Candidate;
use crate::failure::Refusal;

/// # Errors
/// They do not fit, or the schema cannot be used.
pub(crate) fn input_schema(candidate: &Candidate) -> Result<(), Refusal> {
    let tool = || candidate.tool_name();
    let schema = candidate.offered.input_schema();
    let schema = schema.map_err(|why| Refusal::UnusableSchema { tool: tool(), why: why.to_owned() })?;
    let checked = schema.check(candidate.content.arguments.value());
    checked.map_err(|misfit| Refusal::InvalidArguments { tool: tool(), violations: misfit.violations() })
}

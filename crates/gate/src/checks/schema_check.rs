//! Do the arguments fit the tool's input schema?

use super::Check;
use crate::failure::Refusal;
use crate::pending::Pending;
use crate::ruleset::Ruleset;

/// The check.
pub(super) struct InputSchema;

impl Check for InputSchema {
    fn name(&self) -> &'static str {
        "input_schema"
    }

    fn check(&self, pending: &mut Pending<'_>, _: &Ruleset) -> Result<(), Refusal> {
        let schema = pending
            .offered
            .input_schema()
            .map_err(|why| Refusal::UnusableSchema { tool: pending.tool_name(), why: why.to_owned() })?;
        schema.check(pending.arguments.value()).map_err(|misfit| Refusal::InvalidArguments {
            tool: pending.tool_name(),
            violations: misfit.violations(),
        })
    }
}

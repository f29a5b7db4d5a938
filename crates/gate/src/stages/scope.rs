//! Has the caller been given what the tool needs?

use policy::Caller;
use tool_api::Definition;

use super::Stage;
use crate::failure::Refusal;
use crate::pending::Pending;

/// The stage. The catalogue hides such tools already; this is the second fence, in case it ever does not.
pub(super) struct Scope;

impl Stage for Scope {
    fn name(&self) -> &'static str {
        "scope"
    }

    fn check(&self, pending: &Pending<'_>) -> Result<(), Refusal> {
        if has_scopes(pending.caller, pending.definition()) {
            Ok(())
        } else {
            // The same words as for a tool that does not exist: a caller learns nothing it may not see.
            Err(Refusal::UnknownTool(pending.tool_name()))
        }
    }
}

/// True if the caller holds every scope of the tool.
pub(crate) fn has_scopes(caller: &Caller, definition: &Definition) -> bool {
    definition.scopes.iter().all(|scope| caller.scopes().contains(scope))
}

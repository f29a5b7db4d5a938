//! May this caller run this tool at all?

use policy::{Caller, Decision, Facts, Policy};
use tool_api::{Definition, Effect};

use super::Stage;
use crate::failure::Refusal;
use crate::pending::Pending;

/// The stage.
pub(super) struct PolicyStage {
    policy: Policy,
}

impl PolicyStage {
    pub(super) fn new(policy: Policy) -> PolicyStage {
        PolicyStage { policy }
    }
}

impl Stage for PolicyStage {
    fn name(&self) -> &'static str {
        "policy"
    }

    fn check(&self, pending: &Pending<'_>) -> Result<(), Refusal> {
        match self.policy.decide(&facts(pending.caller, pending.definition())) {
            Decision::Allow { .. } => Ok(()),
            Decision::Ask { rule, why, setting } => {
                Err(Refusal::NeedsApproval { tool: pending.tool_name(), rule, why, setting })
            }
            Decision::Deny { rule, why } => Err(Refusal::Denied { tool: pending.tool_name(), rule, why }),
        }
    }
}

/// What the policy is told of a call.
pub(crate) fn facts<'a>(caller: &'a Caller, definition: &'a Definition) -> Facts<'a> {
    Facts {
        caller,
        tool: definition.name.as_str(),
        upstream: definition.upstream.as_deref(),
        effect: match definition.effect {
            Effect::Reads => policy::Effect::Reads,
            Effect::Writes => policy::Effect::Writes,
            Effect::Destroys => policy::Effect::Destroys,
            Effect::Executes => policy::Effect::Executes,
        },
        marked_destructive: definition.marked_destructive,
        leaves_machine: definition.open_world,
    }
}

//! May this caller run this tool at all?

use audit::Decided;
use policy::{Caller, Facts, Verdict};
use tool_api::{Action, Definition, Effect};

use super::Stage;
use crate::bylaws::Bylaws;
use crate::failure::Refusal;
use crate::pending::{Pending, Question};

/// The stage.
pub(super) struct PolicyStage;

impl Stage for PolicyStage {
    fn name(&self) -> &'static str {
        "policy"
    }

    fn check(&self, pending: &mut Pending<'_>, bylaws: &Bylaws) -> Result<(), Refusal> {
        let facts = facts(pending.caller, pending.offered.definition(), pending.action);
        let decision = bylaws.policy.decide(&facts, pending.arguments.value());
        let refused = match decision.verdict {
            Verdict::Allow => Ok(()),
            Verdict::Ask => {
                pending.questions.push(Question::of_policy(&decision));
                Ok(())
            }
            Verdict::Deny => Err(Refusal::Denied {
                tool: pending.tool_name(),
                rule: decision.rule.clone(),
                why: decision.why.clone(),
            }),
        };
        let (by, effect) = ("policy", decision.verdict.as_str().into());
        pending.decisions.push(Decided { by, rule: decision.rule.clone(), effect });
        pending.decision = Some(decision);
        refused
    }
}

/// What the policy is told of a call.
pub fn facts<'a>(caller: &'a Caller, definition: &'a Definition, action: Option<Action>) -> Facts<'a> {
    Facts {
        caller,
        tool: definition.name.as_str(),
        upstream: definition.upstream.as_deref(),
        action: action.map(Action::name),
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

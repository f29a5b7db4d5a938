//! Plan mode: a caller who plans looks and changes nothing.

use serde_json::Value;
use tool_api::{Effect, Listing, Need};

use super::Gate;
use crate::candidate::Candidate;
use crate::failure::Refusal;
use crate::record_scope::RecordScope;

/// What records say.
const STEP: &str = "plan_mode";

impl Gate {
    /// Whether the call is more than looking, and somebody plans or may. What a tool of ours keeps for its caller alone is no
    /// more than that: it leaves plan mode, notes the tasks of the plan, ends what was begun before.
    pub(super) fn may_be_planning(&self, candidate: &Candidate) -> bool {
        let definition = candidate.offered.definition();
        let needs = definition.listing.needs();
        let is_note = needs == [Need::State] || needs == [Need::Tasks];
        // Reading, filling in and completing look, and who has begun a task may end it.
        let looks = definition.effect == Effect::Reads || is_note || candidate.action.is_some();
        !looks && self.states.may_be_plans()
    }

    /// Refuses such a call while its caller plans here.
    pub(super) async fn plan_mode(
        &self,
        candidate: &Candidate,
        record: &mut RecordScope<'_>,
    ) -> Result<(), Refusal> {
        let definition = candidate.offered.definition();
        let workspace = self.files.path().to_string_lossy();
        let verdict = match self.states.plan_mode(&candidate.caller, &workspace).await {
            Ok(None) => return Ok(()),
            Ok(Some(plan)) if writes_only(candidate, plan.plan_file.as_deref()) => return Ok(()),
            Ok(Some(plan)) => Refusal::Planning {
                tool: definition.name.to_string(),
                effect: definition.effect,
                is_a_servers: definition.upstream().is_some(),
                goal: plan.goal,
            },
            Err(error) => Refusal::NoPlanMode(error.to_string()),
        };
        record.verdict(STEP, Err(&verdict));
        Err(verdict)
    }
}

/// Whether a tool of ours writes the file of the plan, and nothing else.
fn writes_only(candidate: &Candidate, plan_file: Option<&str>) -> bool {
    let (definition, arguments) = (candidate.offered.definition(), candidate.content.arguments.value());
    let (Listing::Ours(about), Some(plan_file)) = (&definition.listing, plan_file) else { return false };
    let names = about.arguments.writes;
    let is_plan = |name: &&str| {
        let path = arguments.get(name).and_then(Value::as_str);
        let path = path.and_then(|path| candidate.files.locate(path).ok());
        path.is_some_and(|path| path.to_string() == plan_file)
    };
    definition.effect == Effect::Writes && !names.is_empty() && names.iter().all(is_plan)
}

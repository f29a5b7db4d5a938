//! Plan mode: a caller who plans looks and changes nothing.

use bytes::Bytes;
use sandbox::Root;
use serde_json::Value;
use tokio::task::spawn_blocking;
use tool_api::{CallId, Effect, Listing, Need, Origin, PLAN_BYTES_MAX, PLAN_MODE_TOOL, ToolError};

use super::Gate;
use crate::candidate::Candidate;
use crate::failure::{Failure, Internal, Refusal};
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

    /// The plan that a call would leave plan mode with, for the person who is asked about that; nothing for all other calls.
    ///
    /// # Errors
    /// There is none that could be shown, so nobody is asked.
    pub(super) async fn plan_to_show(
        &self,
        id: CallId,
        candidate: &Candidate,
    ) -> Result<Option<Bytes>, Failure> {
        let (definition, arguments) = (candidate.definition(), candidate.content.arguments.value());
        let is_ours = definition.origin == Origin::BuiltIn && definition.name.as_str() == PLAN_MODE_TOOL;
        if !is_ours || arguments["action"] != "exit" {
            return Ok(None);
        }
        let workspace = self.files.path().to_string_lossy();
        let plan = self.states.plan_mode(&candidate.caller, &workspace).await;
        let plan = plan.map_err(|error| Refusal::NoPlanMode(error.to_string()))?;
        let why = "not in plan mode, so there is no plan to leave with";
        let plan = plan.ok_or_else(|| ToolError::new("not_planning", why))?;
        let named = arguments["plan_file"].as_str().map(str::to_owned).or(plan.plan_file);
        let files = candidate.files.clone();
        let shown = spawn_blocking(move || shown(&files, named.as_deref())).await;
        let shown = shown.map_err(|_| Internal { call: id })?;
        let unshown =
            |why| ToolError::new("no_plan", format!("a person must see the plan first, and cannot: {why}"));
        Ok(Some(shown.map_err(unshown)?))
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
                plan_file: plan.plan_file,
            },
            Err(error) => Refusal::NoPlanMode(error.to_string()),
        };
        record.verdict(STEP, Err(&verdict));
        Err(verdict)
    }
}

/// The plan at a path as tools name it, and nothing that nobody could be shown.
fn shown(files: &Root, named: Option<&str>) -> Result<Bytes, String> {
    let named = named.ok_or("say in `plan_file` where it is")?;
    let path = files.locate(named).map_err(|error| error.to_string())?;
    let part = files.read(&path, 0, PLAN_BYTES_MAX).map_err(|error| error.to_string())?;
    match part.total_bytes {
        0 => Err(format!("{path} is empty; write it there first")),
        bytes if bytes > PLAN_BYTES_MAX as u64 => {
            Err(format!("{path} has {bytes} bytes, and {PLAN_BYTES_MAX} are the most; shorten it"))
        }
        _ => Ok(part.bytes.into()),
    }
}

/// The tools of ours that write a text and neither move nor remove anything.
const WRITERS: [&str; 2] = ["workspace_write", "workspace_edit"];

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
    WRITERS.contains(&definition.name.as_str()) && !names.is_empty() && names.iter().all(is_plan)
}

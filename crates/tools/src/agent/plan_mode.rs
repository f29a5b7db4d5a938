//! `PlanMode`: while a caller plans, the gate lets it look and change nothing. What is kept of it is in `tool_api`.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_api::{
    About, ArgumentRoles, Context, Effect, Example, FileError, Inside, Need, Noted, PLAN_BYTES_MAX,
    PLAN_MODE, PLAN_MODE_TOOL, Structured, Tool, ToolError,
};

use crate::plain_schema::plain;
use crate::workspace::file_error::refused;
use crate::workspace::text_encoding::utf8;

/// How the name of a plan ends.
const ENDINGS: [&str; 2] = ["md", "markdown"];

/// The longest goal, in characters.
const GOAL_CHARS_MAX: u32 = 1_000;

/// Enters plan mode and leaves it.
#[derive(Debug)]
pub(crate) struct PlanMode;

/// The arguments of `PlanMode`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// `enter`; `exit` with the plan; `status` in words and `json` in structure say how things stand; `reset` leaves without a
    /// plan.
    action: Action,
    /// For `enter`: what is to be reached.
    #[schemars(length(max = GOAL_CHARS_MAX))]
    goal: Option<String>,
    /// The plan, a Markdown file: the one file that may be written meanwhile if `enter` names it. `exit` reads it.
    plan_file: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Action {
    Enter,
    Exit,
    Status,
    Json,
    Reset,
}

/// How things stand.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = plain)]
pub(crate) struct Standing {
    /// Whether the caller is in plan mode here.
    active: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    goal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_file: Option<String>,
    /// When it was entered, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    /// The plan that was left with.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
    #[serde(skip)]
    said: Option<String>,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(said) = &self.said {
            return f.write_str(said);
        }
        let Standing { started_at: Some(since), goal, plan_file, .. } = self else {
            return f.write_str("Not in plan mode.");
        };
        write!(f, "In plan mode since {since}")?;
        goal.iter().try_for_each(|goal| write!(f, " for: {goal}"))?;
        plan_file.iter().try_for_each(|file| write!(f, "\nThe plan is written to {file}."))
    }
}

impl Tool for PlanMode {
    const ABOUT: About = About {
        name: PLAN_MODE_TOOL,
        title: "Plan before changing",
        summary: "Plan a large change first. Between `enter` and `exit` every tool that changes something or runs a program is \
                  refused, but for writing the plan itself; reading, searching and tasks go on. It holds for all your \
                  sessions in this workspace.",
        effect: Effect::Writes,
        arguments: ArgumentRoles { paths: &["plan_file"], ..ArgumentRoles::NONE },
        scopes: &["read_workspace"],
        needs: &[Need::State],
        idempotent: false,
        open_world: false,
        timeout: Duration::from_secs(30),
        examples: &[
            Example {
                title: "Begin to plan",
                arguments: r#"{"action": "enter", "goal": "Split the parser", "plan_file": "plan.md"}"#,
            },
            Example { title: "How things stand", arguments: r#"{"action": "status"}"# },
        ],
    };
    type Input = Input;
    type Output = Structured<Standing>;

    async fn run(&self, input: Input, cx: &Context) -> Result<Structured<Standing>, ToolError> {
        let noted = cx.state()?.read(PLAN_MODE).await?;
        let standing = match (input.action, noted) {
            (Action::Enter, None) => enter(input, cx).await?,
            (Action::Enter, Some(noted)) => {
                let goal = Standing::of(Some(&noted));
                let why = format!("{goal}\nLeave it with `exit`, or with `reset` to begin anew");
                return Err(ToolError::new("already_planning", why));
            }
            (Action::Exit, Some(noted)) => exit(input, noted, cx).await?,
            (Action::Exit, None) => {
                return Err(ToolError::new(
                    "not_planning",
                    "not in plan mode, so there is no plan to leave with",
                ));
            }
            (Action::Status | Action::Json, noted) => Standing::of(noted.as_ref()),
            (Action::Reset, noted) => {
                leave(noted.as_ref(), cx).await?;
                Standing::of(None)
            }
        };
        Ok(Structured(standing))
    }
}

async fn enter(Input { goal, plan_file, .. }: Input, cx: &Context) -> Result<Standing, ToolError> {
    let located = plan_file.map(|file| cx.files.locate(&file).map_err(refused)).transpose()?;
    if let Some(file) = located.clone() {
        check_plan_file(file, cx).await?;
    }
    let state = cx.state()?;
    let plan = tool_api::PlanMode {
        goal,
        since_ms: state.now_ms(),
        plan_file: located.map(|file| file.to_string()),
    };
    let value = serde_json::to_vec(&plan).map_err(|error| ToolError::new("io", error.to_string()))?;
    if !state.replace(PLAN_MODE, None, Some(value)).await? {
        return Err(ToolError::new("already_planning", "another call has entered plan mode just now"));
    }
    let file = match &plan.plan_file {
        Some(file) => format!("Only {file} can be written; put the plan there."),
        None => "No file can be written; `enter` takes a `plan_file` that can.".to_owned(),
    };
    let said = format!("In plan mode: you can look and change nothing until `exit`. {file}");
    Ok(Standing { said: Some(said), ..Standing::from(plan) })
}

/// Refuses a file that no tool may write: the plan could not be written there.
async fn check_plan_file(file: Inside, cx: &Context) -> Result<(), ToolError> {
    if file.is_root() {
        return Err(ToolError::new("not_a_file", "`plan_file` is the workspace itself; name a file in it"));
    }
    // No source is one: what is no plan could be written under its name.
    let name = file.to_string();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    if !ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)) {
        let why = format!("`plan_file` is {file}, and a plan is a Markdown file: name one such as plan.md");
        return Err(ToolError::new("not_a_plan", why));
    }
    let files = cx.files.clone();
    cx.blocking(move || match files.check_writable(&file) {
        // A person is asked when it is written.
        Ok(()) | Err(FileError::Obeyed(_)) => Ok(()),
        Err(error) => Err(refused(error)),
    })
    .await
}

async fn exit(input: Input, noted: Noted, cx: &Context) -> Result<Standing, ToolError> {
    let known = Standing::of(Some(&noted));
    let missing = "say in `plan_file` where the plan is, or leave without one by `reset`";
    let file = input.plan_file.or(known.plan_file).ok_or_else(|| ToolError::new("no_plan", missing))?;
    let path = cx.files.locate(&file).map_err(refused)?;
    let bytes = match &cx.plan {
        // What a person has seen, whatever stands in the file by now.
        Some(plan) => plan.to_vec(),
        None => read(path.clone(), cx).await?,
    };
    let plan = String::from_utf8_lossy(&utf8(&bytes)).into_owned();
    if plan.trim().is_empty() {
        return Err(ToolError::new("no_plan", format!("{path} is empty; write the plan there first")));
    }
    leave(Some(&noted), cx).await?;
    let said = format!("Plan mode is over. The plan in {path}:\n\n{plan}");
    Ok(Standing {
        plan: Some(plan),
        plan_file: Some(path.to_string()),
        said: Some(said),
        ..Standing::of(None)
    })
}

async fn read(path: Inside, cx: &Context) -> Result<Vec<u8>, ToolError> {
    let files = cx.files.clone();
    let part = cx.blocking(move || files.read(&path, 0, PLAN_BYTES_MAX).map_err(refused)).await?;
    if part.total_bytes > PLAN_BYTES_MAX as u64 {
        let why =
            format!("the plan has {} bytes, and {PLAN_BYTES_MAX} are the most; shorten it", part.total_bytes);
        return Err(ToolError::new("too_large", why));
    }
    Ok(part.bytes)
}

/// Ends what was read; what another call has changed since stays, and is told.
async fn leave(noted: Option<&Noted>, cx: &Context) -> Result<(), ToolError> {
    match cx.state()?.replace(PLAN_MODE, noted.map(|noted| noted.version), None).await? {
        true => Ok(()),
        false => Err(ToolError::new("state_busy", "another call has changed it just now; look at `status`")),
    }
}

impl Standing {
    fn of(noted: Option<&Noted>) -> Standing {
        let none =
            Standing { active: false, goal: None, plan_file: None, started_at: None, plan: None, said: None };
        let Some(noted) = noted else { return none };
        // One that a later version wrote is known to be there.
        let kept = serde_json::from_slice::<tool_api::PlanMode>(&noted.value);
        kept.map_or(Standing { active: true, ..none }, Standing::from)
    }
}

impl From<tool_api::PlanMode> for Standing {
    fn from(plan: tool_api::PlanMode) -> Standing {
        let tool_api::PlanMode { goal, since_ms, plan_file } = plan;
        let started_at =
            Timestamp::from_millisecond(since_ms).and_then(|time| time.round(jiff::Unit::Second));
        let started_at = started_at.ok().map(|time| time.to_string());
        Standing { active: true, goal, plan_file, started_at, plan: None, said: None }
    }
}

#[cfg(test)]
mod tests;

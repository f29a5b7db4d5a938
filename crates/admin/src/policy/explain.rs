//! Which rule decides about a call, why every other does not, and what would change it.

use policy::{Advice, BUILT_IN, Caller, CallerKind, CaseCaller, Decided, Looked, ToolOrigin, Verdict, Via};
use sandbox::ObeyedFile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::PolicyPart;
use crate::by::By;
use crate::fault::Fault;
use crate::operation::Operation;

/// Explains a call, without making it.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Explain {
    /// The tool.
    pub tool: String,
    /// The arguments; without them the decision may depend on them.
    #[serde(default)]
    pub arguments: Option<Map<String, Value>>,
    /// Who calls; the local user if nothing is said.
    #[serde(default)]
    pub caller: CaseCaller,
}

/// Why a call is decided as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Explained {
    /// The tool.
    pub tool: String,
    /// The server that it is on, or `built-in`, or `declared` for one that a manifest describes.
    pub from: String,
    /// What the tool counts as: `reads`, `writes`, `destroys` or `executes`.
    pub effect: String,
    /// Who calls.
    pub caller: CallerReport,
    /// The decision; nothing if it depends on the arguments.
    pub decision: Option<Decided>,
    /// Whether the tool has a dry run, which a rule may want first.
    pub has_dry_run: bool,
    /// Who asks a person, whatever is allowed.
    pub asks: Vec<Decided>,
    /// Whether the caller is shown the tool.
    pub shown: bool,
    /// What the caller would have to be granted to be shown it.
    pub missing_scopes: Vec<String>,
    /// Every rule, in order, and what was found of it.
    pub rules: Vec<Looked>,
    /// What would change it, the nearest first.
    pub advice: Vec<Advice>,
}

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallerReport {
    /// The name that records have.
    pub id: String,
    /// What sort of caller.
    pub kind: CallerKind,
    /// What they are here.
    pub roles: Vec<String>,
    /// The transport they come through.
    pub via: Via,
}

impl Operation for Explain {
    const NAME: &'static str = "policy.explain";
    type Part = PolicyPart;
    type Output = Explained;

    fn perform(self, part: &PolicyPart, _: &By) -> Result<Explained, Fault> {
        let caller = self.caller.settle().map_err(|error| Fault::misused(error.to_string()))?;
        let arguments = self.arguments.map(Value::Object);
        let known = part.tools.known()?;
        let definition = known.definition(&self.tool)?;
        let facts = gate::facts(&caller, definition, None);
        let explained = part.policy.explain(&facts, arguments.as_ref(), None);
        let missing: Vec<String> = gate::missing_scopes(&caller, definition).map(str::to_owned).collect();
        let grant = (!missing.is_empty()).then(|| {
            let what = format!("give the caller the scope {}", missing.join(", "));
            Advice { what, toml: None }
        });
        let obeyed = arguments.map(|arguments| gate::obeyed_files(&known.files, definition, &arguments));
        let obeyed = obeyed.unwrap_or_default();
        Ok(Explained {
            tool: self.tool,
            from: from(facts.origin, definition.upstream()).to_owned(),
            effect: definition.effect.name().to_owned(),
            caller: CallerReport::of(&caller),
            decision: explained.decision.as_ref().map(Decided::from),
            has_dry_run: gate::has_dry_run(definition),
            asks: obeyed.iter().map(asking).collect(),
            shown: explained.is_visible && missing.is_empty(),
            missing_scopes: missing,
            rules: explained.looked,
            advice: grant.into_iter().chain(explained.advice).chain(obeyed.iter().map(free)).collect(),
        })
    }
}

impl CallerReport {
    fn of(caller: &Caller) -> CallerReport {
        CallerReport {
            id: caller.id().to_string(),
            kind: caller.kind(),
            roles: caller.roles().iter().map(|role| role.as_str().to_owned()).collect(),
            via: caller.via(),
        }
    }
}

fn from(origin: ToolOrigin, server: Option<&str>) -> &str {
    match origin {
        ToolOrigin::Declared => gate::DECLARED,
        ToolOrigin::BuiltIn | ToolOrigin::Script | ToolOrigin::Upstream => server.unwrap_or(BUILT_IN),
    }
}

/// The question about a file that others obey.
fn asking(file: &ObeyedFile) -> Decided {
    let (rule, why) = (gate::obeyed_rule(file).to_string(), format!("writes {file}"));
    Decided { effect: Verdict::Ask, rule, why, dry_run_first: false }
}

/// What would have a file that others obey written without a question.
fn free(file: &ObeyedFile) -> Advice {
    let path = Value::from(file.path.to_string_lossy());
    Advice {
        what: "let tools write this file without asking, in your own file".to_owned(),
        toml: Some(format!("[workspace]\nwritable = [{path}]")),
    }
}

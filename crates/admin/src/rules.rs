//! The rules for AI: whether they are right, which are in force, and what they would do with a call.

mod test;

use std::sync::Arc;

use policy::Role;
use rules::{Action, Found, Rule, Rules, Settings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::by::By;
use crate::fault::Fault;
use crate::operation::Operation;
use crate::tools::Tools;
pub use test::{Match, OnResult, Test, Tested};

/// What operations on the rules for AI work on.
pub struct RulesPart {
    /// Where they come from.
    pub settings: Settings,
    /// The tools that there are.
    pub tools: Arc<dyn Tools>,
}

/// Looks whether the rules files are right.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {}

/// What was found in the rules files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
    /// Those that are there, or should be.
    pub files: Vec<String>,
    /// How many rules each of them has.
    pub counts: Vec<usize>,
    /// What is wrong: `file:line:column: what`. As long as anything is, every call is refused.
    pub problems: Vec<String>,
    /// What their author may not have meant.
    pub notes: Vec<String>,
}

/// The rules in force.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Show {}

/// All rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleList {
    /// File by file, in the order in which they stand.
    pub rules: Vec<RuleReport>,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleReport {
    /// Whose it is: `organisation`, `project` or `user`.
    pub from: String,
    /// Its id.
    pub id: String,
    /// What its author says of it.
    pub description: Option<String>,
    /// What it does, in the word of rules files.
    pub action: String,
    /// The same for people, with what its mode makes of it.
    pub does: String,
    /// Whether it acts.
    pub mode: String,
    /// Whether it is about this project.
    pub concerns_project: bool,
    /// The file that it stands in.
    pub file: String,
    /// Where, from 1.
    pub line: usize,
    /// Where in the line, from 1.
    pub column: usize,
}

impl RulesPart {
    /// The rules, if nothing is wrong with them.
    fn sound(&self) -> Result<Rules, Fault> {
        let rules = Rules::new(self.settings.clone());
        match rules.problems() {
            problems if problems.is_empty() => Ok(rules),
            problems => Err(Fault::configuration(problems.join("\n"))),
        }
    }
}

impl Operation for Check {
    const NAME: &'static str = "rules.check";
    type Part = RulesPart;
    type Output = Checked;

    fn perform(self, part: &RulesPart, _: &By) -> Result<Checked, Fault> {
        let rules = Rules::new(part.settings.clone());
        let problems = rules.problems();
        Ok(rules.show(|files, _| Checked {
            files: files.iter().map(|file| file.path.display().to_string()).collect(),
            counts: files.iter().map(|file| rules_of(file).count()).collect(),
            problems,
            notes: files.iter().flat_map(|file| rules_of(file).filter_map(|rule| note(file, rule))).collect(),
        }))
    }
}

impl Operation for Show {
    const NAME: &'static str = "rules.show";
    type Part = RulesPart;
    type Output = RuleList;

    fn perform(self, part: &RulesPart, _: &By) -> Result<RuleList, Fault> {
        let report = |file: &Found, rule: &Rule, is_concerned: bool| RuleReport {
            from: file.layer.word().to_owned(),
            id: rule.id.to_string(),
            description: rule.description.as_deref().map(str::to_owned),
            action: rule.action.word().to_owned(),
            does: rule.effect().into_owned(),
            mode: rule.mode.word().to_owned(),
            concerns_project: is_concerned,
            file: file.path.display().to_string(),
            line: rule.place.line,
            column: rule.place.column,
        };
        let rules = part.sound()?.show(|files, concerns| {
            let of_file = |file| rules_of(file).map(move |rule| (file, rule));
            let all = files.iter().flat_map(of_file);
            all.map(|(file, rule)| report(file, rule, concerns(rule, file.layer))).collect()
        });
        Ok(RuleList { rules })
    }
}

fn rules_of(file: &Found) -> impl Iterator<Item = &Rule> {
    file.rules.iter().flatten()
}

fn place(file: &Found, rule: &Rule) -> String {
    format!("{}:{}:{}", file.path.display(), rule.place.line, rule.place.column)
}

/// What its author may not have meant.
fn note(file: &Found, rule: &Rule) -> Option<String> {
    let Action::RequireApproval(roles) = &rule.action else { return None };
    let unknown: Vec<&str> =
        roles.iter().map(|role| &**role).filter(|role| Role::parse(role).is_none()).collect();
    let first = unknown.first()?;
    let who = match unknown.len() == roles.len() {
        true => "so the owner alone may answer",
        false => "so the others that it names may answer",
    };
    let known = Role::ALL.map(Role::as_str).join(", ");
    Some(format!("{}: nobody here has the role `{first}`, {who}; the roles are {known}", place(file, rule)))
}

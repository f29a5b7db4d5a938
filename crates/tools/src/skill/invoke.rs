//! `InvokeSkill`: loads the instructions for a kind of task.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use tool_api::{
    About, AnyTool, ArgumentRoles, Arguments, Block, Context, Definition, Document, Effect, Example,
    INVOKE_SKILL, NoSkills, Outcome, SKILL_SCHEME, Skill, SkillSummary, Skills, Tool, ToolError, builtin,
};

use super::said::said;
use crate::plain_schema::plain;

/// Most bytes of a file beside a skill in one answer.
const FILE_BYTES_MAX: usize = 256 * 1024;

/// Longest text that a skill is called with, in characters.
const ARGUMENTS_CHARS_MAX: u32 = 16 * 1024;

/// How much of a skill's description stands in the tool's own, in characters: every agent reads it in every conversation.
const DESCRIPTION_CHARS_SHOWN: usize = 160;

/// Bytes of all of them there. Skills beyond that are only named.
const SKILLS_BYTES_SHOWN: usize = 4 * 1024;

/// Names of those that are only named.
const NAMES_SHOWN: usize = 40;

/// Loads a skill.
pub(crate) struct InvokeSkill {
    pub(crate) skills: Arc<dyn Skills>,
}

/// The arguments of `InvokeSkill`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// Which one.
    skill_name: String,
    /// What it is to be done with.
    #[serde(default)]
    #[schemars(length(max = ARGUMENTS_CHARS_MAX))]
    arguments: String,
    /// A file beside it, to be read instead.
    file: Option<String>,
}

impl Tool for InvokeSkill {
    const ABOUT: About = About {
        name: INVOKE_SKILL,
        title: "Load a skill",
        summary: "Load the instructions of a skill before you do a task of its kind. Nothing in them runs by itself. \
                  A server's are called PREFIX_NAME, and `PREFIX_` lists them.",
        effect: Effect::Reads,
        arguments: ArgumentRoles::NONE,
        scopes: &["read_workspace"],
        needs: &[],
        idempotent: true,
        open_world: false,
        timeout: Duration::from_secs(30),
        examples: &[
            Example {
                title: "With what it is to be done",
                arguments: r#"{"skill_name": "release-notes", "arguments": "since v1.2"}"#,
            },
            Example {
                title: "A file beside it",
                arguments: r#"{"skill_name": "release-notes", "file": "references/style.md"}"#,
            },
        ],
    };
    type Input = Input;
    type Output = Document;

    async fn run(&self, input: Input, cx: &Context) -> Result<Document, ToolError> {
        let Input { skill_name, arguments, file } = input;
        let (skills, wanted) = (self.skills.clone(), file.clone());
        let (skill, bytes) = cx.blocking(move || skills.read(&skill_name, wanted.as_deref())).await?;
        check_for_models(&skill)?;
        let Some(path) = file else {
            return Ok(Document(vec![Block::Text(said(&skill, &arguments, cx.files.path())?)]));
        };
        let bytes = bytes.ok_or_else(|| no_file(&skill, &path))?;
        if bytes.len() > FILE_BYTES_MAX {
            let why =
                format!("{path} has {} bytes, and {FILE_BYTES_MAX} are the most that is said", bytes.len());
            return Err(ToolError::new("too_large", why));
        }
        let block = match String::from_utf8(bytes) {
            Ok(text) => Block::Text(text),
            Err(binary) => Block::Blob {
                uri: uri(&skill.name, &path),
                mime: "application/octet-stream".into(),
                bytes: binary.into_bytes(),
            },
        };
        Ok(Document(vec![block]))
    }
}

/// Refuses a skill that its author keeps for people to start, as a prompt.
pub(super) fn check_for_models(skill: &Skill) -> Result<(), ToolError> {
    if skill.is_for_models {
        return Ok(());
    }
    let why =
        format!("the skill `{}` is for people to start; ask your user whether it is wanted", skill.name);
    Err(ToolError::new("skill_unusable", why))
}

/// Where a file of a skill is read as a resource.
pub(super) fn uri(skill: &str, path: &str) -> String {
    format!("{SKILL_SCHEME}{skill}/{path}")
}

/// What the text of a file beside a skill is, by its name; of what is no text nothing is said by that.
pub(super) fn media_type(name: &str) -> &'static str {
    if name.ends_with(".md") { "text/markdown" } else { tool_api::TEXT }
}

fn no_file(skill: &Skill, path: &str) -> ToolError {
    let shown: String = path.chars().take(100).collect();
    let why = format!(
        "the skill `{}` has no file `{shown}`; load it without `file` to see which it has",
        skill.name
    );
    ToolError::new("not_found", why)
}

/// The tool for these skills, which its description names.
pub(super) fn invoke(skills: &Arc<dyn Skills>) -> Arc<dyn AnyTool> {
    let tool = builtin(InvokeSkill { skills: skills.clone() });
    let description = description(&skills.list());
    let definition = Definition { description: description.into(), ..tool.definition().clone() };
    Arc::new(Described { definition, tool })
}

/// The tool where there are no skills: for lists of all tools.
pub(crate) fn without_skills() -> Arc<dyn AnyTool> {
    builtin(InvokeSkill { skills: Arc::new(NoSkills) })
}

/// A tool of another description.
struct Described {
    definition: Definition,
    tool: Arc<dyn AnyTool>,
}

impl AnyTool for Described {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        self.tool.run(arguments, cx)
    }
}

fn description(skills: &[SkillSummary]) -> String {
    let there_are = if skills.is_empty() { "" } else { " There are:" };
    let mut text = format!("{}{there_are}", InvokeSkill::ABOUT.summary);
    let mut unsaid = Vec::new();
    for SkillSummary { name, description, .. } in skills.iter().filter(|skill| skill.is_for_models) {
        let mut shown: String = description.chars().take(DESCRIPTION_CHARS_SHOWN).collect();
        if shown.len() < description.len() {
            shown.push('…');
        }
        match text.len() + shown.len() <= SKILLS_BYTES_SHOWN {
            true => {
                let _ = write!(text, "\n- {name}: {shown}");
            }
            false => unsaid.push(&**name),
        }
    }
    if !unsaid.is_empty() {
        let more = unsaid.len().saturating_sub(NAMES_SHOWN);
        unsaid.truncate(NAMES_SHOWN);
        let _ = write!(text, "\n- and {}", unsaid.join(", "));
        if more > 0 {
            let _ = write!(text, " and {more} more");
        }
    }
    text
}

/// A definition for something else that is done with skills: policy and records know it as this tool.
pub(super) fn definition() -> Definition {
    // Its arguments are the parameters of the request.
    let input_schema = Bytes::from_static(b"{}").into();
    Definition { input_schema, ..without_skills().definition().clone() }
}

#[cfg(test)]
mod tests;

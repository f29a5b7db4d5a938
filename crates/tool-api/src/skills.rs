//! Skills: instructions for a kind of task, which an agent loads when it does such a task (agentskills.io).

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::failure::ToolError;

/// The tool that loads one.
pub const INVOKE_SKILL: &str = "InvokeSkill";

/// The extension by which clients find skills and what belongs to them.
pub const SKILLS_EXTENSION: &str = "io.modelcontextprotocol/skills";

/// Its method for what lies in a folder, which a source has if it says so.
pub const DIRECTORY_READ: &str = "resources/directory/read";

/// The file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// How the URI of a skill's file begins (MCP extension `io.modelcontextprotocol/skills`).
pub const SKILL_SCHEME: &str = "skill://";

/// A skill as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillSummary {
    /// What it is called for by.
    pub name: Arc<str>,
    /// What it is for.
    pub description: Arc<str>,
    /// Whether a model may load it by itself.
    pub is_for_models: bool,
    /// Whether a person is offered it as a prompt.
    pub is_for_people: bool,
}

/// A skill as a whole, at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    /// What it is called for by.
    pub name: Arc<str>,
    /// What it is for.
    pub description: Arc<str>,
    /// Whether a model may load it by itself.
    pub is_for_models: bool,
    /// Whether a person is offered it as a prompt.
    pub is_for_people: bool,
    /// All that its head says.
    pub fields: Map<String, Value>,
    /// Its instructions.
    pub body: String,
    /// Where it lies.
    pub folder: PathBuf,
    /// Its files, `SKILL.md` among them, in the order of their paths.
    pub files: Vec<SkillFile>,
    /// What its content is: a SHA-256 over all files, as 64 hexadecimal digits.
    pub sha256: String,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// Where it lies below the skill's folder.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 of its content, as 64 hexadecimal digits.
    pub sha256: String,
}

/// The skills that there are.
pub trait Skills: Send + Sync {
    /// Those that were there at the last look, in the order of their names.
    fn list(&self) -> Arc<[SkillSummary]>;

    /// One of them as it is now, and the bytes of one of its files if one is `wanted`. Blocks on the disk.
    ///
    /// # Errors
    /// There is none of this name, or it has become one that is not to be read; in words for a model.
    fn read(&self, name: &str, wanted: Option<&str>) -> Result<(Skill, Option<Vec<u8>>), ToolError>;
}

/// None at all.
#[derive(Debug)]
pub struct NoSkills;

impl Skills for NoSkills {
    fn list(&self) -> Arc<[SkillSummary]> {
        Arc::default()
    }

    fn read(&self, _: &str, _: Option<&str>) -> Result<(Skill, Option<Vec<u8>>), ToolError> {
        Err(ToolError::new("unknown_skill", "there are no skills here"))
    }
}

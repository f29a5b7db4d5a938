//! Skills: loaded by a tool, offered as prompts, and served as the MCP extension for skills has it.

mod extension;
mod features;
pub(crate) mod invoke;
mod prompt;
mod said;
mod words;

pub use features::skill_tools;

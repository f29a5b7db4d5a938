//! Agent Skills on the disk (agentskills.io): folders with a `SKILL.md`, found, read and told apart by their content. Nothing in
//! one is ever run.

mod front_matter;
mod library;
mod skill_folder;

pub use library::{Agreed, Library, Place};

//! Tools that people describe in a file: a manifest says what a tool takes and gives, and which program does the work. Reading
//! the folder of the files is for others, and so is what is found by compiling a schema.

mod attempts;
mod does;
mod dry_run;
mod format;
mod manifest;
mod printed;
mod program;
mod template;
mod told;
mod tool;

pub use format::Format;
pub use manifest::{Manifest, SandboxTable, WorkspaceSeen};
pub use tool::tool;

//! Tools that people describe in a file: a manifest says what a tool takes and gives, and what does the work: a
//! program, a server that is asked over HTTP, or another tool. Reading
//! the folder of the files is for others, and so is what is found by compiling a schema.

mod asking;
mod attempts;
mod does;
mod dry_run;
mod format;
mod grammar;
mod kind;
mod last_said;
mod made;
mod manifest;
mod openapi;
mod own_files;
mod printed;
mod program;
mod request;
mod stand_in;
mod table;
mod template;
mod told;
mod tool;
mod unique;

pub use asking::KeptSecrets;
pub use format::{Format, json};
pub use manifest::{HttpMethod, HttpTable, Manifest, McpTable, SandboxTable, WorkspaceSeen};
pub use openapi::{Made, manifests_from};
pub use tool::{Also, Beside, tool};

//! Everything a tool author may know: what a tool says of itself, what it is given, what it gives back.
//!
//! Small, and changes rarely. It knows no protocol and no policy.

mod about;
mod arguments;
mod artifact;
mod browser;
mod cancel;
mod catalogue;
mod client;
mod context;
mod definition;
mod described;
mod dry_run;
mod failure;
mod features;
mod hold;
mod job;
mod near_names;
mod net;
mod outcome;
mod path_rules;
pub mod permit;
mod person;
mod plain_text;
mod plan_mode;
mod process;
mod sandboxed;
mod schema_text;
mod secrets;
mod skills;
mod state;
mod stdin;
mod tasks;
mod tool;

pub use about::{About, ArgumentRoles, Effect, Example, Need};
pub use arguments::{Arguments, ArgumentsFault};
pub use artifact::{
    ARTIFACT_READ, ARTIFACT_SCHEME, ARTIFACT_SEARCH, Artifact, ArtifactReader, ArtifactWriter, Artifacts,
    JSON, TEXT, is_text,
};
pub use browser::{Browser, NO_BROWSER, NOT_A_PAGE, Page, no_page};
pub use cancel::Cancel;
pub use catalogue::{TOOLS_CALL, TOOLS_DESCRIBE, TOOLS_SEARCH, is_of_catalogue};
pub use client::{Client, Input, shows_forms};
pub use context::{Context, Listener, Progress, STDERR_LOGGER};
pub use definition::{Definition, Listing, NAME_CHARS_MAX, Origin, ResultBudget, ToolName, Validate};
pub use described::{Bounds, DRY_RUN, Described, StandsFor};
pub use dry_run::{DryRun, Planned};
pub use failure::{Protocol, ToolError};
pub use features::{
    Abilities, Action, Claims, Event, ExtensionMethods, Features, Freshness, Held, Item, SkillLoader,
};
pub use hold::Hold;
pub use job::{JOB_RESULT, JOB_WAIT, JobAsks, JobSeen, Jobs};
pub use near_names::near_names;
pub use net::Net;
pub use outcome::{Block, Document, Outcome, Output, Payload, Structured};
pub use path_rules::PathRules;
pub use permit::{CallId, Permit};
pub use person::Person;
pub use plain_text::PlainText;
pub use plan_mode::{PLAN_BYTES_MAX, PLAN_MODE, PLAN_MODE_TOOL, PlanMode};
pub use process::{
    BLOCKED_TOLD_MAX, Blocked, Chunk, Command, Ended, Given, Printed, Process, Processes, Worker,
};
pub use sandboxed::Sandboxed;
pub use schema_text::SchemaText;
pub use secrets::{Secrets, Striking};
pub use skills::{
    DIRECTORY_READ, INVOKE_SKILL, NoSkills, SKILL_FILE, SKILL_SCHEME, SKILLS_EXTENSION, Skill, SkillFile,
    SkillSummary, Skills,
};
pub use state::{CALLBACK_WAIT, Noted, STATE_SCHEME, State, Turn, amend, noted};
pub use stdin::Stdin;
pub use tasks::{
    BACKGROUND, BACKGROUND_KILL, BACKGROUND_LIST, BACKGROUND_READ, BASH, OutputAsked, OutputPart, TaskOutput,
    TaskSeen, Tasks, Typed,
};
// What a tool meets when it uses `Context::process`.
pub use sandbox::Change;
pub use sandbox::Exit;
pub use sandbox::confine::{CHANGED_TOLD_MAX, Layer, Limit, Streams, changed_files, protected_changed};
// `Context::net`.
pub use sandbox::Body;
pub use sandbox::egress::HostRules;
// And `Context::files`.
pub use sandbox::{
    Access, Entry, Expect, FileError, FilePart, Folder, Inside, IsHeld, Kind, Root, Trashed, Written,
};
pub use tool::{AnyTool, Tool, builtin};

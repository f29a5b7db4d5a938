//! `Described`: what a person's file says of a tool, beside its definition.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::about::Need;

/// The argument that asks a tool what it would do.
pub const DRY_RUN: &str = "dry_run";

/// The self-description of a declared tool, as `About` is that of a built-in one.
#[derive(Debug, Clone, Default)]
pub struct Described {
    /// Name for people.
    pub title: String,
    /// Which version of it this is, if its file says so.
    pub version: Option<String>,
    /// The text of its file, by which one state of it is told from another.
    pub text: Arc<str>,
    /// True if a second identical call changes nothing more.
    pub idempotent: bool,
    /// What it needs beside its files.
    pub needs: Vec<Need>,
    /// How much less its programs may use than an operator lets programs use.
    pub bounds: Bounds,
    /// The tool that runs in its place, if it has no work of its own.
    pub stands_for: Option<StandsFor>,
    /// What its programs read beside the system and the workspace, as absolute paths.
    pub reads: Vec<PathBuf>,
    /// Whether all that it does is to ask a host for what is there (a GET).
    pub only_asks: bool,
    /// The names of the kept secrets that it sends.
    pub secrets: Vec<String>,
    /// Whether it does nothing, and says what it would do, where its argument [`DRY_RUN`] is true.
    pub dry_run: bool,
    /// What it does, one thing to a line, for a person who must agree to it.
    pub does: Vec<String>,
    /// Arguments of sample calls, as JSON text.
    pub examples: Vec<String>,
}

/// A tool that another one stands for, under a contract of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct StandsFor {
    /// The name that it is offered under.
    pub tool: String,
    /// What it is always sent, whatever a caller says.
    pub fixed: Map<String, Value>,
}

impl StandsFor {
    /// What it is sent for a call with these arguments.
    pub fn arguments(&self, said: &Value) -> Value {
        let mut arguments = said.as_object().cloned().unwrap_or_default();
        arguments.extend(self.fixed.clone());
        Value::Object(arguments)
    }
}

/// Limits of one tool's programs. They only tighten those of an operator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Memory of all processes together.
    pub memory_bytes: Option<u64>,
    /// Processes and threads at once.
    pub processes: Option<u64>,
    /// Open files of each process.
    pub open_files: Option<u64>,
}

//! `ProgramSettings`: what an operator says of the programs that calls run, and of what calls reach.

use std::ffi::OsString;
use std::path::PathBuf;

use sandbox::CompanyProxy;
use sandbox::confine::{Layer, Limits};
use sandbox::egress::HostRules;

/// What all calls have in common.
#[derive(Debug, Clone, Default)]
pub struct ProgramSettings {
    /// How much programs may use.
    pub limits: Limits,
    /// Layers of the sandbox that they do without where those are missing.
    pub waived: Vec<Layer>,
    /// What they read beside the system and the workspace, as absolute paths.
    pub read: Vec<PathBuf>,
    /// What they write beside the workspace, if they may write that.
    pub write: Vec<PathBuf>,
    /// The variables by which they know language and time zone, and where the person finds programs.
    pub surroundings: Vec<(OsString, OsString)>,
    /// Variables that they have besides.
    pub env: Vec<(OsString, OsString)>,
    /// What calls reach that may reach something, beside what their tools name.
    pub hosts: HostRules,
    /// The folder of ours where what dry runs write lies for as long as they take.
    pub asides: PathBuf,
    /// The browser that shows pages, if a person has named one.
    pub browser: Option<PathBuf>,
    /// Whether a person is asked about hosts that neither names.
    pub asks: bool,
    /// The proxy that leads there, if this network has one.
    pub proxy: Option<CompanyProxy>,
}

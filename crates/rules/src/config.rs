//! The `[rules]` section, and what it comes to.

use std::collections::BTreeSet;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::rule::Mode;
use crate::vocabulary::Vocabulary;

/// Rules for AI: what agents may see, do and send, by paths and contents. A folder's rules are in
/// `.toolcrib/ai-rules.json` (or `.yaml`, `.yml`) in the workspace; `.oppla/ai-rules.json` is read as well. A change of a
/// rules file is in effect within a second.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The rules file of the organisation. It must be there once it is named, and `mode` does not touch its rules.
    pub organisation: Option<PathBuf>,
    /// The rules file of the project, in place of those in the workspace. It must be there, and
    /// holds in every project.
    pub project: Option<PathBuf>,
    /// Your own rules file; by default `ai-rules.json` (or `.yaml`, `.yml`) in the folder of your configuration. It can
    /// add to the others' rules and take nothing away.
    pub user: Option<PathBuf>,
    /// What rules call this project in `projects`; by default the name of the workspace's folder, with as many of the
    /// folders above it as a rule names. The organisation's rules and your own go by that folder as well, and by the one in
    /// which the project's configuration lies. What it says holds in every project.
    pub project_name: Option<String>,
    /// Whether the rules of the project and your own act, or only say what they would have done.
    pub mode: Mode,
}

/// Where rules come from and what they are held against; all paths are absolute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The workspace's folder, which paths in rules are relative to.
    pub workspace: PathBuf,
    /// What else may stand for that folder at the beginning of an absolute path, such as the name by which our own tools
    /// call it.
    pub spellings: Vec<PathBuf>,
    /// The user's own folder, which paths spell `~` and `$HOME`; nothing if there is none.
    pub home: Option<PathBuf>,
    /// The organisation's file, if one is named.
    pub organisation: Option<PathBuf>,
    /// The project's file, if one is named.
    pub project: Option<PathBuf>,
    /// The user's file, if one is named.
    pub user: Option<PathBuf>,
    /// Where the user's file lies if none is named.
    pub user_folder: Option<PathBuf>,
    /// What rules call the project, if it is named.
    pub project_name: Option<String>,
    /// Where the project begins, if its configuration tells; the workspace may be a folder in it.
    pub project_folder: Option<PathBuf>,
    /// Whether the rules of the project and the user act.
    pub mode: Mode,
    /// The servers whose calls the project's rules may change, since they are the project's own; any if it is nothing, as
    /// where a person has named the project's file. Elsewhere such a rule changes nothing, and what a project's rules
    /// strike out of a call gets no words of theirs in its place.
    pub own_servers: Option<BTreeSet<String>>,
    /// The upstreams that run on this machine: programs, sockets, and addresses of this machine.
    pub local_upstreams: BTreeSet<String>,
    /// The words of the protocol whose messages are judged.
    pub vocabulary: Vocabulary,
}

//! The `[workspaces]` section as it is written: workspaces with names beside the one that is served.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

/// A workspace with a name, at an address of its own: a view for a client or a team.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NamedWorkspace {
    /// The folder that its built-in tools work in; relative to this file. By default the folder of the workspace that is
    /// served at `/mcp`.
    pub root: Option<PathBuf>,
    /// The other MCP servers that it has, by their names in `[mcp]`. By default all; `[]` is none.
    pub servers: Option<Vec<String>>,
    /// Which of the tools it offers, the built-in ones and those of servers alike. Any other is unknown there.
    pub tools: OfferedTools,
    /// Its file of rules for AI, in place of the project's. It must be there.
    pub rules: Option<PathBuf>,
}

/// Tools, by patterns of the names under which they are offered.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct OfferedTools {
    /// Which are offered, as globs such as `["git_*"]`. By default all.
    pub include: Vec<String>,
    /// Which are not, even if they are included, such as `["*_delete*"]`.
    pub exclude: Vec<String>,
}

//! The configuration file as a type. Each section belongs to the crate that uses it; here they only meet.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

/// The configuration of toolcrib. Every key is optional.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct File {
    /// The doors over HTTP and a Unix socket.
    pub(crate) server: server::Config,
    /// The folder that the tools work in.
    pub(crate) workspace: Workspace,
    /// What is kept from one run to the next.
    pub(crate) state: State,
    /// The built-in tools.
    pub(crate) tools: tools::Config,
    /// How much is too much.
    pub(crate) limits: Limits,
    /// Which tools run without asking, and which never.
    pub(crate) policy: policy::Config,
    /// Other MCP servers, by a name of your choice; their tools are offered as NAME_tool. In their texts
    /// `${env:VARIABLE}` (or `{env:VARIABLE}`) stands for an environment variable and `${file:PATH}` (or
    /// `{file:PATH}`) for what a file holds; `$${env:VARIABLE}` and `{{env:VARIABLE}` are the texts themselves. What
    /// others on the machine can read takes no file: `command`, `args`, `cwd` and `socket`. A path may begin with
    /// `~/`.
    pub(crate) mcp: BTreeMap<String, upstream::Config>,
    /// Settings that may change.
    pub(crate) experimental: Experimental,
    /// What is logged, to standard error.
    pub(crate) log: crate::log::Config,
}

/// The folder that the tools work in.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Workspace {
    /// The folder; relative to this file. Without a file it is the current folder.
    pub(crate) root: PathBuf,
}

impl Default for Workspace {
    fn default() -> Workspace {
        Workspace { root: ".".into() }
    }
}

/// What is kept from one run to the next.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct State {
    /// The folder; relative to this file. By default `toolcrib` in the platform's folder for user data.
    pub(crate) dir: Option<PathBuf>,
}

/// How much is too much.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Limits {
    /// How often one caller may call tools.
    pub(crate) rate: gate::RateConfig,
}

/// Settings that may change.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Experimental {
    /// How long a call to another MCP server may take, in milliseconds, unless the server's own `timeout`
    /// says otherwise.
    #[schemars(range(min = 1, max = 86_400_000))]
    pub(crate) mcp_timeout: u64,
}

impl Default for Experimental {
    fn default() -> Experimental {
        Experimental { mcp_timeout: 30_000 }
    }
}

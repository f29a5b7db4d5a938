//! The configuration file as a type. Each section belongs to the crate that uses it; here they only meet.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::workspaces::NamedWorkspace;

/// The configuration of toolcrib. Every key is optional. Your own file is in the platform's folder for configurations; a
/// folder's is the nearest from the current folder upwards, at most to the top of its repository. Your own file
/// governs. A folder's file has servers of its own (`[mcp.NAME]`), in force once you have agreed to them (`toolcrib trust`),
/// and adds to `policy.deny`, and to `exclude`, a stricter `trust` and a narrower `sandbox` of your servers, at once. Whatever
/// else it says is passed over; `toolcrib config check` and `config show` tell of it. A file that is named with `--config` is your own
/// word, and stands alone.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct File {
    /// How clients reach it over HTTP and a Unix socket.
    pub server: server::Config,
    /// Who may call over HTTP.
    pub identity: server::identity::Config,
    /// The folder that the tools work in.
    pub workspace: Workspace,
    /// What is kept from one run to the next.
    pub state: State,
    /// The built-in tools.
    pub tools: tools::Config,
    /// What a web search asks.
    pub search: tools::SearchConfig<upstream::Value>,
    /// How much is too much.
    pub limits: Limits,
    /// Results that are too large for an answer: how long they are kept, how much of them, and where.
    pub artifacts: artifacts::Config<upstream::Value>,
    /// Programs that run confined: the ones of `toolcrib sandbox run`, and those of servers, whose tables say more
    /// (`[mcp.NAME.sandbox]`). A folder's file may lower the limits.
    pub sandbox: crate::confinement::Config,
    /// Which tools run without asking, and which never.
    pub policy: policy::Config,
    /// Rules for AI: the files they are in, and whether they act.
    pub rules: rules::Config,
    /// Calls that a person must allow first: how long they wait, and who may answer.
    pub approvals: gate::approvals::Config,
    /// Calls that outlive their request: how many there may be, and how long they are kept.
    pub jobs: gate::jobs::Config,
    /// How secrets and sign-ins are sealed that are kept.
    pub secrets: crate::kept::Config,
    /// The audit log of calls: what is noted, and how long it is kept.
    pub audit: audit::Config,
    /// What is struck out of everything that leaves the program.
    pub redaction: redact::Config,
    /// What operators can see of a running Toolcrib: figures and spans.
    pub telemetry: telemetry::Config,
    /// Other MCP servers, by a name of your choice; their tools are offered as NAME_tool. In their texts
    /// `${env:VARIABLE}` (or `{env:VARIABLE}`) stands for an environment variable and `${file:PATH}` (or
    /// `{file:PATH}`) for what a file holds, and `${store:NAME}` (or `{store:NAME}`) for a secret that
    /// `toolcrib secrets set` has kept; `$${env:VARIABLE}` and `{{env:VARIABLE}` are the texts themselves. What
    /// others on the machine can read takes no file and no secret: `command`, `args`, `cwd`, `socket` and the paths of `sandbox`. A path may
    /// begin with `~/`. A folder's file declares servers of its own under names that yours does not use; of yours it can
    /// only exclude tools, say a stricter `trust` and narrow the `sandbox`. Its references lead to the environment, to files in the folder, and to
    /// kept secrets that you have let it use.
    pub mcp: BTreeMap<String, upstream::Config>,
    /// Workspaces with names, for clients and teams: `toolcrib serve` offers each at `/mcp/NAME`, beside the one at `/mcp`. A
    /// name has letters, digits, `-` and `_`, at most 64, and a letter or digit first.
    pub workspaces: BTreeMap<String, NamedWorkspace>,
    /// Settings that may change.
    pub experimental: Experimental,
    /// What is logged, to standard error.
    pub log: crate::log::Config,
}

impl File {
    /// The servers whose destructive tools do not ask each time.
    pub(crate) fn destructive(&self) -> BTreeMap<String, policy::Destructive> {
        let said = self.mcp.iter().filter_map(|(name, server)| {
            let how = match server.destructive {
                upstream::Destructive::Ask => return None,
                upstream::Destructive::Session => policy::Destructive::Session,
                upstream::Destructive::Allow => policy::Destructive::Allow,
            };
            Some((name.clone(), how))
        });
        said.collect()
    }
}

/// The folder that the tools work in.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Workspace {
    /// The folder; relative to this file. Without a file it is the current folder, but never the root of the disk,
    /// your home folder or what contains it: those have no file tools unless your own file, one that is named, or
    /// `--workspace` says so.
    pub root: PathBuf,
    /// Files below the folder that agents, editors, shells, git and package managers obey, and that tools write without
    /// asking all the same, as globs such as `["CLAUDE.md", ".github/**"]`. What decides about tools stays protected.
    pub writable: Vec<String>,
}

impl Default for Workspace {
    fn default() -> Workspace {
        Workspace { root: ".".into(), writable: Vec::new() }
    }
}

/// What is kept from one run to the next.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct State {
    /// The folder; relative to this file. By default `toolcrib` in the platform's folder for user data.
    pub dir: Option<PathBuf>,
}

/// How much is too much.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Limits {
    /// How much of a result one answer holds, such as `"100 KiB"` or `"25000 tokens"` (4 bytes count as a token): for declared
    /// tools, and for servers whose table has no `result_kib`. What is beyond it is kept as an artifact.
    pub result: gate::ResultLimit,
    /// How often one caller may call tools.
    pub rate: gate::RateConfig,
    /// How often some callers may call tools, by patterns of their ids (`local`, or a key's or token's, as the audit log of
    /// calls has them), in place of `rate`. Of several that fit, a name goes before a pattern, and a long pattern before
    /// a short one.
    pub callers: BTreeMap<String, gate::LimitConfig>,
    /// How often some tools may be called by all callers together, by patterns of their names; each tool has its own
    /// share. Of several that fit, all hold.
    pub tools: BTreeMap<String, gate::LimitConfig>,
    /// How often the tools of some other MCP servers may be called by all callers together, by the servers' names.
    pub upstreams: BTreeMap<String, gate::LimitConfig>,
}

/// Settings that may change.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Experimental {
    /// How long a call to another MCP server may take, in milliseconds, unless the server's own `timeout`
    /// says otherwise.
    #[schemars(range(min = 1, max = 86_400_000))]
    pub mcp_timeout: u64,
}

impl Default for Experimental {
    fn default() -> Experimental {
        Experimental { mcp_timeout: 30_000 }
    }
}

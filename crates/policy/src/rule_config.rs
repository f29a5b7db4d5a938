//! One rule of the `[policy]` section as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::{CallerKind, Via};
use crate::engine::{Covers, Recorded, Verdict};
use crate::facts::{Effect, ToolOrigin};
use crate::words::{ActionWord, ApproverWord, RoleWord};

/// One rule. It fits a call if everything that is written in it fits; what is not written fits every call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleConfig {
    /// Its name in refusals, in the audit log and in tests: letters, digits, `_`, `-` and `.`.
    pub id: String,
    /// What is done with a call that fits.
    pub effect: Verdict,
    /// The tools, as globs over the names that callers see, `["git_*"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Whose tools: the names of servers in `[mcp]` or globs over them, and `"built-in"` for those of no server. Without it a rule
    /// that allows speaks of our own tools only, so that a new server never inherits the permission of another; one
    /// that asks or denies speaks of all, but asking alone permits nothing of a server that nothing else permits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upstream: Vec<String>,
    /// What kind of tool: `"built_in"`, `"declared"` (described in a file of yours), `"script"`, `"upstream"` (a server's).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<ToolOrigin>,
    /// What is done: `"tools_call"`, `"resources_read"`, `"resources_subscribe"`, `"resources_unsubscribe"`,
    /// `"prompts_get"`, `"completion_complete"`, `"tasks_get"`, `"tasks_update"`, `"tasks_cancel"`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<ActionWord>,
    /// Who calls: ids of callers or globs over them, `["ci-*"]`. The local user is `"local"`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<String>,
    /// What sort of caller: `"local_user"`, `"key"`, `"token"`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<CallerKind>,
    /// Callers of any of these roles; `"none"` for those without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RoleWord>,
    /// Callers that hold all of these scopes. `"{upstream}:call"` stands for the scope that bears the server's name,
    /// with `_` for everything but lower-case letters and digits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The transport they came through: `"stdio"`, `"socket"`, `"http"`, `"command_line"`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<Via>,
    /// What the tool does: `"reads"`, `"writes"`, `"destroys"`, `"executes"`. A tool that its server marks destructive
    /// counts as one that destroys, too; nothing else that a server says of its tools is believed: they execute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
    /// Only tools that send something off this machine, or only those that do not. Servers' tools always do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaves_machine: Option<bool>,
    /// Only tools that may send something to other machines, or only those that do not: those that stay on this machine, and those
    /// that only ask hosts for what they have which you have named (a search, a declared `GET` that reads). Servers' tools always
    /// count as ones that send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sends: Option<bool>,
    /// A condition in CEL over `caller`, `tool`, `args` and `now`, for example
    /// `has(args.path) && args.path.isUnder("docs")`. If it cannot be evaluated the call is refused. For our own tools
    /// `isUnder` knows every spelling of the workspace and follows links; for those of servers it compares words, and a
    /// path from the root on with another one not at all. `args.command.runs("git", "push")` and `args.command.commands()` know
    /// what a command runs; where that cannot be told, a person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// The reason that callers read; completes "the tool …".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whoever may answer the question, by role; without it those of `[approvals]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<ApproverWord>,
    /// How long the question stays open, such as `"10m"`: between `"10s"` and `"7d"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_lasts: Option<String>,
    /// What a plain yes is good for: `"call"`, which is the default, or `"session"`, for all calls of the tool by this
    /// caller in this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_covers: Option<Covers>,
    /// Whether the call is made dry first, so that the question shows what it would change; it then runs as long as those files
    /// are as they were. Each call is asked about by itself, and one of a tool that has no dry run is refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run_first: bool,
    /// How long the call may take at most, such as `"30s"`, whatever its tool allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_max: Option<String>,
    /// How the arguments are put down in the audit log: `"redacted"` or `"hash"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Recorded>,
}

impl RuleConfig {
    /// A rule that fits every call.
    pub fn new(id: &str, effect: Verdict) -> RuleConfig {
        RuleConfig { id: id.to_owned(), effect, ..RuleConfig::default() }
    }
}

//! The `[policy]` section as it is written. What it means is settled when a [`Policy`](crate::Policy) is made of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::{CallerKind, Via};
use crate::case::Case;
use crate::engine::Verdict;
use crate::facts::Effect;
use crate::role::Role;

/// Who may do what. A folder's file tightens what your own says and takes none of it back: the denials and rules of
/// both are in force, yours before the folder's. What it permits is for its own servers, once you have agreed to it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Tools that run without asking where the default policy asks, as globs over their names, with the server that they
    /// are meant of before them (`built-in` for our own): `["git/git_git_reset"]`. Without a server, an entry is good for
    /// whatever tool has such a name, also one of a server that is added later. It permits nothing that is refused, and answers no question that a rule of yours asks. Of
    /// a folder's list only entries with one of its own servers before them count (`"git/*"`), beside yours.
    pub allow: Vec<String>,
    /// Tools that never run, as globs over their names, for example `["*_delete_*"]`, with their server before them or
    /// without, as in `allow`. Wins over everything. Those of your own file and of a folder's are both in force.
    pub deny: Vec<String>,
    /// Whether the default policy stands behind your rules. `toolcrib policy show` prints it. Without it, what no rule
    /// permits is refused. `false` in your own file or in a folder's is enough.
    pub defaults: bool,
    /// Your rules. A rule that denies wins wherever it stands; among all others the first that fits decides.
    /// The rules of your own file come before a folder's, so one of those decides only what none of yours does; one that
    /// allows must name the folder's own servers in `upstream`. No two may have the same `id`.
    pub rules: Vec<RuleConfig>,
    /// Calls and what is to come of them, for `toolcrib policy test`.
    pub tests: Vec<Case>,
}

impl Default for Config {
    fn default() -> Config {
        Config { allow: Vec::new(), deny: Vec::new(), defaults: true, rules: Vec::new(), tests: Vec::new() }
    }
}

/// One rule. It fits a call if everything that is written in it fits; what is not written fits every call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleConfig {
    /// Its name in refusals, in the audit log and in tests: letters, digits, `_`, `-` and `.`.
    pub id: String,
    /// What is done with a call that fits.
    pub effect: RuleEffect,
    /// The tools, as globs over the names that callers see, `["git_*"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Whose tools: the names of servers in `[mcp]` or globs over them, and `"built-in"` for our own. Without it a rule
    /// that allows speaks of our own tools only, so that a new server never inherits the permission of another; one
    /// that asks or denies speaks of all, but asking alone permits nothing of a server that nothing else permits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upstream: Vec<String>,
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
    /// The door they came through: `"stdio"`, `"socket"`, `"http"`, `"command_line"`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<Via>,
    /// What the tool does: `"reads"`, `"writes"`, `"destroys"`, `"executes"`. A tool that its server marks destructive
    /// counts as one that destroys, too; nothing else that a server says of its tools is believed: they execute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
    /// Only tools that send something off this machine, or only those that do not. Servers' tools always do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaves_machine: Option<bool>,
    /// A condition in CEL over `caller`, `tool`, `args` and `now`, for example
    /// `has(args.path) && args.path.isUnder("docs")`. If it cannot be evaluated the call is refused. For our own tools
    /// `isUnder` knows every spelling of the workspace and follows links; for those of servers it compares words, and a
    /// path from the root on with another one not at all.
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
    /// How long the call may take at most, such as `"30s"`, whatever its tool allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_max: Option<String>,
    /// How the arguments are put down in the audit log: `"redacted"` or `"hash"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<ArgumentsWord>,
}

impl RuleConfig {
    /// A rule that fits every call.
    pub fn new(id: &str, effect: RuleEffect) -> RuleConfig {
        RuleConfig {
            id: id.to_owned(),
            effect,
            tools: Vec::new(),
            upstream: Vec::new(),
            actions: Vec::new(),
            callers: Vec::new(),
            kinds: Vec::new(),
            roles: Vec::new(),
            scopes: Vec::new(),
            via: Vec::new(),
            effects: Vec::new(),
            leaves_machine: None,
            when: None,
            why: None,
            approvers: Vec::new(),
            approval_lasts: None,
            timeout_max: None,
            arguments: None,
        }
    }
}

/// What a rule does with a call that fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RuleEffect {
    /// Run it.
    Allow,
    /// Run it if a person agrees.
    Ask,
    /// Do not run it.
    Deny,
}

impl From<RuleEffect> for Verdict {
    fn from(effect: RuleEffect) -> Verdict {
        match effect {
            RuleEffect::Allow => Verdict::Allow,
            RuleEffect::Ask => Verdict::Ask,
            RuleEffect::Deny => Verdict::Deny,
        }
    }
}

/// What is done, as rules name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionWord {
    /// A tool is called.
    ToolsCall,
    /// A resource is read.
    ResourcesRead,
    /// Changes of a resource are asked for.
    ResourcesSubscribe,
    /// They are no longer wanted.
    ResourcesUnsubscribe,
    /// A prompt is filled in.
    PromptsGet,
    /// What might be typed next is asked for.
    CompletionComplete,
    /// A task is looked at.
    TasksGet,
    /// A task is given what it waits for.
    TasksUpdate,
    /// A task is ended.
    TasksCancel,
}

impl ActionWord {
    /// The word, as [`Facts::action`](crate::Facts::action) has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ToolsCall => TOOLS_CALL,
            Self::ResourcesRead => "resources_read",
            Self::ResourcesSubscribe => "resources_subscribe",
            Self::ResourcesUnsubscribe => "resources_unsubscribe",
            Self::PromptsGet => "prompts_get",
            Self::CompletionComplete => "completion_complete",
            Self::TasksGet => "tasks_get",
            Self::TasksUpdate => "tasks_update",
            Self::TasksCancel => "tasks_cancel",
        }
    }
}

/// The action of a call of a tool, for which the facts name none.
pub(crate) const TOOLS_CALL: &str = "tools_call";

/// What a caller is, as rules name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RoleWord {
    /// See [`Role::Owner`].
    Owner,
    /// See [`Role::Maintainer`].
    Maintainer,
    /// See [`Role::Developer`].
    Developer,
    /// See [`Role::Auditor`].
    Auditor,
    /// See [`Role::Agent`].
    Agent,
    /// A caller without any role.
    None,
}

impl RoleWord {
    /// The role; nothing for a caller without one.
    pub const fn role(self) -> Option<Role> {
        match self {
            Self::Owner => Some(Role::Owner),
            Self::Maintainer => Some(Role::Maintainer),
            Self::Developer => Some(Role::Developer),
            Self::Auditor => Some(Role::Auditor),
            Self::Agent => Some(Role::Agent),
            Self::None => None,
        }
    }
}

/// Who may answer a question. Agents answer for nothing, and auditors change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApproverWord {
    /// See [`Role::Owner`].
    Owner,
    /// See [`Role::Maintainer`].
    Maintainer,
    /// See [`Role::Developer`].
    Developer,
}

impl From<ApproverWord> for Role {
    fn from(word: ApproverWord) -> Role {
        match word {
            ApproverWord::Owner => Role::Owner,
            ApproverWord::Maintainer => Role::Maintainer,
            ApproverWord::Developer => Role::Developer,
        }
    }
}

/// How arguments are put down in the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ArgumentsWord {
    /// As they are, secrets struck out.
    Redacted,
    /// As a hash and a size.
    Hash,
}

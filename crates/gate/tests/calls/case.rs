//! A case as it is written: who calls what under which rules, what came before, and what comes of it.

use std::collections::BTreeMap;
use std::time::Duration;

use gate::approvals::{Answer, Pattern, Scope as Permission};
use gate::{Caller, CallerKind, Roles, Scopes, Target, Via};
use policy::Scope;
use serde::Deserialize;
use tool_api::Action;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) case: Vec<Case>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// Who calls; the local user if nothing is said.
    #[serde(flatten)]
    pub(crate) who: Who,
    #[serde(default)]
    pub(crate) allow: Vec<String>,
    #[serde(default)]
    pub(crate) deny: Vec<String>,
    /// Whether the default policy stands behind the rules.
    #[serde(default = "yes")]
    pub(crate) defaults: bool,
    /// The policy's own rules.
    #[serde(default)]
    pub(crate) rules: Vec<policy::RuleConfig>,
    /// The rules of an AI rules file, in YAML.
    pub(crate) ai_rules: Option<String>,
    /// Whether they come into force only after the calls that come before.
    #[serde(default)]
    pub(crate) ai_rules_later: bool,
    /// Whether AI rules act, as `[rules]` says it; they do if nothing is said.
    #[serde(default)]
    pub(crate) ai: rules::Config,
    #[serde(default)]
    pub(crate) limits: Limits,
    /// What the redactor knows.
    #[serde(default)]
    pub(crate) secrets: BTreeMap<String, String>,
    /// Nobody waits for an answer, whatever it says.
    #[serde(default)]
    pub(crate) approvals: gate::approvals::Config,
    /// Which files that others obey are written without asking.
    #[serde(default)]
    pub(crate) writable: Vec<String>,
    /// Links in the workspace, and where they lead; and those that are put in their place after the calls before.
    #[serde(default)]
    pub(crate) links: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) links_later: BTreeMap<String, String>,
    /// What cannot be written.
    pub(crate) broken: Option<Broken>,
    /// What is called before.
    #[serde(default)]
    pub(crate) before: Vec<Before>,
    /// What this much time, in seconds, passes after.
    #[serde(default)]
    pub(crate) later_s: u64,
    #[serde(flatten)]
    pub(crate) what: What,
    /// How often the same call is made; the last one is looked at.
    #[serde(default = "once")]
    pub(crate) times: u32,
    #[serde(default)]
    pub(crate) cancelled: bool,
    /// The state that the client brings.
    pub(crate) brings: Option<Brings>,
    /// Is the tool in the caller's list?
    #[serde(default)]
    pub(crate) listed: bool,
    /// What the caller gets.
    #[serde(default)]
    pub(crate) reply: String,
    /// What the audit log says: outcome, code, the checks that were asked, what AI rules did, and how much was struck out.
    #[serde(default)]
    pub(crate) record: String,
    /// All that was decided, `by rule: effect`, if it is looked at; and what a person has answered.
    pub(crate) decisions: Option<Vec<String>>,
}

/// Who calls.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Who {
    pub(crate) id: Option<String>,
    pub(crate) kind: Option<CallerKind>,
    /// Roles; with them, or a kind, it is the holder of a key.
    pub(crate) roles: Option<Vec<policy::RoleWord>>,
    /// Scopes; all that the roles give if not said.
    pub(crate) scopes: Option<Vec<String>>,
    pub(crate) via: Option<Via>,
}

/// What is called.
#[derive(Clone, Deserialize)]
pub(crate) struct What {
    /// A tool; for anything else, the name of what stands for it in the list.
    pub(crate) tool: String,
    /// What is done, if it is no call of a tool, such as `resources/read`.
    pub(crate) action: Option<String>,
    /// With which resource, prompt or task; `mine` is the task that was begun before.
    pub(crate) resource: Option<String>,
    pub(crate) prompt: Option<String>,
    pub(crate) task: Option<String>,
    /// `RESULT` in them is the id of the result that was cut before.
    pub(crate) arguments: Option<String>,
    /// What is sent beside them.
    pub(crate) meta: Option<String>,
    /// By which it is known if it is made again.
    pub(crate) request_id: Option<String>,
    /// In which conversation, if the caller's can be told apart.
    #[serde(default)]
    pub(crate) conversation: u64,
    /// Whether the client shows forms to its user.
    #[serde(default)]
    pub(crate) forms: bool,
}

/// A call that is made before, and how the question that it asks is answered.
#[derive(Clone, Deserialize)]
pub(crate) struct Before {
    #[serde(flatten)]
    pub(crate) who: Who,
    #[serde(flatten)]
    pub(crate) what: What,
    /// How often; in the arguments, `#` is the number.
    #[serde(default = "once")]
    pub(crate) times: u32,
    pub(crate) answer: Option<Answered>,
    /// This much time passes after it, in seconds.
    #[serde(default)]
    pub(crate) later_s: u64,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answered {
    Once,
    Session,
    AlwaysThese,
    AlwaysText,
    AlwaysAny,
    Deny,
    /// What was given is taken back.
    Revoked,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Limits {
    pub(crate) callers: BTreeMap<String, gate::LimitConfig>,
    pub(crate) tools: BTreeMap<String, gate::LimitConfig>,
    pub(crate) upstreams: BTreeMap<String, gate::LimitConfig>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Broken {
    AuditLog,
    Approvals,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Brings {
    /// The one that the call before gave out.
    Given,
    /// None, as if its tool had asked for nothing to be kept.
    None,
    /// One that somebody made up.
    Forged,
}

fn once() -> u32 {
    1
}

fn yes() -> bool {
    true
}

impl Who {
    pub(crate) fn caller(&self) -> Caller {
        let roles: Option<Roles> =
            self.roles.as_ref().map(|words| words.iter().filter_map(|word| word.role()).collect());
        let caller = match (roles, self.kind) {
            (None, None) => Caller::local_user(self.via.unwrap_or(Via::Stdio)),
            (roles, kind) => {
                let roles = roles.unwrap_or_default();
                let id = self.id.as_deref().unwrap_or("ci").into();
                let kind = kind.unwrap_or(CallerKind::Key);
                Caller::new(id, kind, roles, roles.scopes(), self.via.unwrap_or(Via::Http))
            }
        };
        match &self.scopes {
            None => caller,
            Some(names) => {
                let scopes: Scopes = names.iter().map(|name| Scope::parse(name).unwrap()).collect();
                caller.with_scopes(scopes)
            }
        }
    }
}

impl What {
    /// `task` is the token of the task that was begun before.
    pub(crate) fn target<'a>(&'a self, task: &'a str) -> Target<'a> {
        let named = |action: &&Action| Some(action.name()) == self.action.as_deref();
        let Some(action) = Action::ALL.iter().find(named).copied() else {
            assert!(self.action.is_none(), "{:?} is one of {:?}", self.action, Action::ALL.map(Action::name));
            return Target::Tool(&self.tool);
        };
        match (&self.resource, &self.prompt, &self.task) {
            (Some(uri), _, _) => Target::Resource { action, uri },
            (_, Some(name), _) => Target::Prompt { action, name },
            (_, _, Some(token)) => Target::Task { action, token: if token == "mine" { task } else { token } },
            (None, None, None) => panic!("an action is done with something"),
        }
    }
}

impl Answered {
    pub(crate) fn answer(self) -> Answer {
        let approve = |scope| Answer::Approve { scope, note: None };
        match self {
            Answered::Once => approve(Permission::Once),
            Answered::Session => approve(Permission::Session),
            Answered::AlwaysThese => approve(Permission::Always(Pattern::Same)),
            Answered::AlwaysText => approve(Permission::Always(Pattern::Members(vec!["/text".to_owned()]))),
            Answered::AlwaysAny | Answered::Revoked => approve(Permission::Always(Pattern::Any)),
            Answered::Deny => Answer::Deny { reason: Some("not today".to_owned()) },
        }
    }
}

/// A wait of no time: nobody will answer.
pub(crate) fn impatient(config: &gate::approvals::Config) -> gate::approvals::Config {
    gate::approvals::Config { wait: Duration::ZERO, ..config.clone() }
}

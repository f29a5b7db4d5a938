//! Cases that stand beside the rules: a call, and what is to come of it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::caller::{Caller, CallerKind, Via};
use crate::engine::{Decision, Verdict};
use crate::facts::{Effect, ToolOrigin};
use crate::role::Roles;
use crate::scope::{Scope, ScopeError, Scopes};
use crate::words::{ActionWord, RoleWord};

/// A call, and what is to come of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What it shows, in a few words.
    pub name: String,
    /// Who calls; without it the local user.
    #[serde(default)]
    pub caller: CaseCaller,
    /// The tool, by the name that callers see.
    pub tool: String,
    /// The server it belongs to; without it the tool is one of ours.
    pub upstream: Option<String>,
    /// What kind of tool it is; without it, it is built in or its server's.
    pub origin: Option<ToolOrigin>,
    /// What is done; without it the tool is called.
    pub action: Option<ActionWord>,
    /// What the tool does; without it our own tools read, and those of servers execute, as they always count.
    pub effect: Option<Effect>,
    /// Whether its server marks it destructive.
    #[serde(default)]
    pub destructive: bool,
    /// Whether it sends something off this machine; without it our own tools do not, and those of servers do.
    pub leaves_machine: Option<bool>,
    /// Whether it sends, and does not only ask named hosts for what they have; without it as `leaves_machine`.
    pub sends: Option<bool>,
    /// The arguments.
    #[serde(default)]
    pub arguments: serde_json::Map<String, Value>,
    /// When it is called, in seconds since 1970, for rules with `now`.
    #[serde(default)]
    pub at: i64,
    /// What is to come of it.
    pub expect: Verdict,
    /// The id of the rule that is to decide; without it any may.
    pub rule: Option<String>,
}

/// Who calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CaseCaller {
    /// The id.
    pub id: String,
    /// What sort of caller.
    pub kind: CallerKind,
    /// What they are; without it the local user is the owner, and all others have no role.
    pub roles: Option<Vec<RoleWord>>,
    /// What they were granted; without it what their roles grant.
    pub scopes: Option<Vec<String>>,
    /// The transport they came through; without it the command line for the local user and HTTP for all others.
    pub via: Option<Via>,
}

impl Default for CaseCaller {
    fn default() -> CaseCaller {
        CaseCaller {
            id: "local".to_owned(),
            kind: CallerKind::LocalUser,
            roles: None,
            scopes: None,
            via: None,
        }
    }
}

impl CaseCaller {
    /// The caller that is meant.
    ///
    /// # Errors
    /// A scope is none.
    pub fn settle(&self) -> Result<Caller, ScopeError> {
        let local = Caller::local_user(Via::CommandLine);
        let is_local = self.kind == CallerKind::LocalUser;
        let roles = match &self.roles {
            Some(words) => words.iter().filter_map(|word| word.role()).collect(),
            None if is_local => local.roles(),
            None => Roles::default(),
        };
        let scopes = match &self.scopes {
            Some(names) => names.iter().map(|name| Scope::parse(name)).collect::<Result<Scopes, _>>()?,
            None => roles.scopes(),
        };
        let via = self.via.unwrap_or(if is_local { Via::CommandLine } else { Via::Http });
        Ok(Caller::new(Arc::from(&*self.id), self.kind, roles, scopes, via))
    }
}

/// What came of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaseResult {
    /// Its name.
    pub name: String,
    /// Whether it came as expected.
    pub good: bool,
    /// What was to come of it.
    pub expected: Expected,
    /// What came of it.
    pub got: Got,
}

/// What is to come of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Expected {
    /// The answer.
    pub effect: Verdict,
    /// The rule that is to decide, if it is not all the same.
    pub rule: Option<String>,
}

/// What came of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Got {
    /// The policy decided.
    Decided(Decided),
    /// It could not be tried.
    Untried {
        /// Why not.
        error: String,
    },
}

/// What the policy makes of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decided {
    /// The answer.
    pub effect: Verdict,
    /// The rule that decided.
    pub rule: String,
    /// The reason, completing "the tool …"; empty for a permission.
    pub why: String,
    /// Whether the call is made dry first, so that the question shows what it would change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run_first: bool,
}

impl From<&Decision> for Decided {
    fn from(decision: &Decision) -> Decided {
        let Decision { verdict, rule, why, obligations } = decision;
        let (rule, why) = (rule.to_string(), why.to_string());
        Decided { effect: *verdict, rule, why, dry_run_first: obligations.dry_run_first }
    }
}

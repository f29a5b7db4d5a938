//! What a person or a program may know of a question and of a standing permission.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::record::{Acted, Approval, Asked, Bound, Grant, Member, State, Through};
use super::would_change::WouldChange;

/// A question, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalReport {
    /// Its name, for people to type.
    pub id: Arc<str>,
    /// `pending`, `approved`, `denied`, `used` or `expired`.
    pub state: String,
    /// Who asked.
    pub caller: Arc<str>,
    /// Through which door.
    pub via: String,
    /// Which tool, or which action of an upstream.
    pub tool: String,
    /// Whose it is; nothing for ours.
    pub upstream: Option<String>,
    /// The folder of the workspace that it was made in.
    pub workspace: String,
    /// What it acts on, if it is no call of a tool, or what a call wants while it runs.
    pub target: Option<String>,
    /// What that is: `resource`, `prompt`, `task`; `host`, `path to read`, `folder to write` for what a running call wants.
    #[serde(default)]
    pub target_kind: Option<String>,
    /// The arguments as JSON text, without secrets.
    pub arguments: String,
    /// How many bytes of them there are.
    pub arguments_bytes: usize,
    /// Whether the text was cut.
    pub arguments_cut: bool,
    /// What is sent beside the arguments.
    pub meta: Option<String>,
    /// The plan that plan mode would be left with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// What it would change, if a rule wants that shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would_change: Option<WouldChange>,
    /// The hash of the exact call.
    pub call_sha256: String,
    /// The hash of the definition that it would be admitted by.
    pub definition_sha256: String,
    /// What was asked, by which rules.
    pub questions: Vec<Asked>,
    /// The roles that may answer.
    pub roles: Vec<String>,
    /// What a standing permission can be bound to, by JSON Pointer.
    pub members: Vec<String>,
    /// What its commands begin with, if a standing permission can be bound to that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beginnings: Vec<String>,
    /// When it was asked, in milliseconds since 1970.
    pub asked_at_ms: i64,
    /// When the question ends, in milliseconds since 1970.
    pub expires_at_ms: i64,
    /// The answer.
    pub answered: Option<AnswerReport>,
    /// When the call ran that it was given for, in milliseconds since 1970.
    pub used_at_ms: Option<i64>,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerReport {
    /// Who gave it.
    pub by: Arc<str>,
    /// Where.
    pub through: Through,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// Until when the call may run, in milliseconds since 1970, if it may.
    pub use_until_ms: Option<i64>,
    /// What the person said besides.
    pub note: Option<Arc<str>>,
    /// The standing permission that was given with it.
    pub grant: Option<Arc<str>>,
}

/// A standing permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantReport {
    /// Its name, for people to type.
    pub id: Arc<str>,
    /// `session` or `always`.
    pub scope: String,
    /// The end of a session's in any case, in milliseconds since 1970.
    pub until_ms: Option<i64>,
    /// Whose calls.
    pub caller: Arc<str>,
    /// Of which tool, or action.
    pub tool: String,
    /// Whose it is; nothing for ours.
    pub upstream: Option<String>,
    /// The only workspace that it is good in, by its folder; nothing for a server's tool.
    pub workspace: Option<String>,
    /// On what, if it is for something else than calls of a tool.
    pub target: Option<String>,
    /// The hash of the definition that it is for.
    pub definition_sha256: String,
    /// The rules whose questions it answers.
    pub rules: Vec<Arc<str>>,
    /// What it is good for, in words.
    pub arguments: String,
    /// The question it was given with.
    pub approval: Arc<str>,
    /// Who gave it.
    pub by: Arc<str>,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

fn shown_beside(beside: &Member) -> String {
    beside.shown.clone()
}

impl Approval {
    /// Everything that a person or a program may know of it.
    pub fn report(&self, now_ms: i64) -> ApprovalReport {
        let answered = self.answered.clone().map(|answered| AnswerReport {
            by: answered.by,
            through: answered.through,
            at_ms: answered.at_ms,
            use_until_ms: (self.state == State::Approved).then_some(answered.use_until_ms),
            note: answered.note,
            grant: answered.grant,
        });
        ApprovalReport {
            id: self.id.clone(),
            state: self.status(now_ms).as_str().to_owned(),
            caller: self.caller.clone(),
            via: self.via.clone(),
            tool: self.tool.clone(),
            upstream: self.upstream.clone(),
            workspace: self.workspace.clone(),
            target: shown(&self.target),
            target_kind: self.target.as_ref().map(|target| target.kind.clone()),
            arguments: self.arguments.clone(),
            arguments_bytes: self.arguments_bytes,
            arguments_cut: self.is_cut,
            meta: self.beside.as_ref().filter(|beside| !beside.is_plan()).map(shown_beside),
            plan: self.beside.as_ref().filter(|beside| beside.is_plan()).map(shown_beside),
            would_change: self.would_change.clone(),
            call_sha256: self.call_sha256.to_string(),
            definition_sha256: self.definition_sha256.to_string(),
            questions: self.questions.clone(),
            roles: self.roles(),
            members: self.members.iter().map(|member| member.pointer.clone()).collect(),
            beginnings: self.offered_beginnings().to_vec(),
            asked_at_ms: self.asked_at_ms,
            expires_at_ms: self.expires_at_ms,
            answered,
            used_at_ms: self.used_at_ms,
        }
    }
}

impl ApprovalReport {
    /// True for what waits for an answer.
    pub fn is_open(&self) -> bool {
        self.state == State::Pending.as_str()
    }
}

impl Grant {
    /// Everything that a person or a program may know of it.
    pub fn report(&self) -> GrantReport {
        let (scope, until_ms) = match &self.bound {
            Bound::Session { until_ms, .. } => ("session", Some(*until_ms)),
            Bound::Always => ("always", None),
        };
        GrantReport {
            id: self.id.clone(),
            scope: scope.to_owned(),
            until_ms,
            caller: self.caller.clone(),
            tool: self.tool.clone(),
            upstream: self.upstream.clone(),
            workspace: self.upstream.is_none().then(|| self.workspace.clone()),
            target: shown(&self.target),
            definition_sha256: self.definition_sha256.to_string(),
            rules: self.rules.clone(),
            arguments: self.pattern(),
            approval: self.approval.clone(),
            by: self.by.clone(),
            at_ms: self.at_ms,
        }
    }
}

fn shown(target: &Option<Acted>) -> Option<String> {
    target.as_ref().map(|target| target.shown.clone())
}

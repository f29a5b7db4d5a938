//! The words that rules are written in, each list of them one enum.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::role::Role;

/// What is done, as rules name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
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
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The action of a call of a tool, for which the facts name none.
pub(crate) const TOOLS_CALL: &str = "tools_call";

/// What a caller is, as rules name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
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
    pub fn role(self) -> Option<Role> {
        Role::parse(self.into())
    }
}

/// Who may answer a question. Agents answer for nothing, and auditors change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
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
        Role::parse(word.into()).expect("each word is that of a role")
    }
}

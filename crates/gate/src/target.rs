//! What a call is for: a tool, or something done with a prompt, a resource or a task.

use std::sync::Arc;

use tool_api::Action;

use crate::failure::Refusal;
use crate::offer::Offered;

/// Longest name that an error repeats, in characters.
pub(crate) const SHOWN_CHARS_MAX: usize = 200;

/// What records and spans say of a method of an extension before it is found: its name is the caller's word.
const EXTENSION: &str = "extension";

/// What a call is for, in the caller's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// The tool of this name.
    Tool(&'a str),
    /// Something done with the resource, or completing the template, of this URI.
    Resource {
        /// What.
        action: Action,
        /// Which one.
        uri: &'a str,
    },
    /// Something done with the prompt of this name.
    Prompt {
        /// What.
        action: Action,
        /// Which one.
        name: &'a str,
    },
    /// Something done with the task of this token.
    Task {
        /// What.
        action: Action,
        /// Which one.
        token: &'a str,
    },
    /// This method of an extension that a source declares.
    Extension(&'a str),
}

impl<'a> Target<'a> {
    /// What it is, unless it is a tool; what is done with it, unless it is called; and what the caller calls it.
    fn parts(self) -> (Option<&'static str>, Option<Action>, &'a str) {
        match self {
            Target::Tool(name) => (None, None, name),
            Target::Resource { action, uri } => (Some("resource"), Some(action), uri),
            Target::Prompt { action, name } => (Some("prompt"), Some(action), name),
            Target::Task { action, token } => (Some("task"), Some(action), token),
            Target::Extension(method) => (Some("method"), None, method),
        }
    }

    /// What the caller calls it.
    pub fn name(self) -> &'a str {
        self.parts().2
    }

    /// The same, but a tool by the name that it is offered under.
    pub(crate) fn offered_as<'o>(self, offered: &'o Offered) -> Target<'o>
    where
        'a: 'o,
    {
        match self {
            Target::Tool(_) => Target::Tool(offered.definition().name.as_str()),
            other => other,
        }
    }

    /// The same, kept; of a tool it is the name that it is offered under.
    pub(crate) fn shared_name(self, offered: &Offered) -> Arc<str> {
        match self {
            Target::Tool(_) => offered.definition().name.shared(),
            other => other.name().into(),
        }
    }

    /// What it is, unless it is a tool.
    pub(crate) fn kind(self) -> Option<&'static str> {
        self.parts().0
    }

    /// What is done, unless a tool is called.
    pub(crate) fn action(self) -> Option<Action> {
        self.parts().1
    }

    /// The protocol's method, for spans.
    pub(crate) fn method(self) -> &'static str {
        let called = if self.kind().is_none() { "tools/call" } else { EXTENSION };
        self.action().map_or(called, Action::method)
    }

    /// What records say before it is found: the tool's name, or the action's, since URIs and arguments may
    /// tell more than an audit log should hold.
    pub(crate) fn recorded(self) -> &'a str {
        let called = if self.kind().is_none() { self.name() } else { EXTENSION };
        self.action().map_or(called, |action| action.name())
    }

    /// Nothing of this name is there for the caller.
    pub(crate) fn unknown(self) -> Refusal {
        let shown = self.name().chars().take(SHOWN_CHARS_MAX).collect();
        match self {
            Target::Tool(_) => Refusal::UnknownTool(shown),
            Target::Resource { .. } => Refusal::UnknownResource(shown),
            Target::Prompt { .. } => Refusal::UnknownPrompt(shown),
            Target::Task { .. } => Refusal::UnknownTask,
            Target::Extension(_) => Refusal::UnknownMethod(shown),
        }
    }
}

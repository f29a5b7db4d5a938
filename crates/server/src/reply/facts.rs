//! What a request was, as far as its answer depends on it.

use gate::{Action, Target};
use wire::completion::Reference;
use wire::{ByteString, Revision};

#[derive(Debug, Clone)]
pub(crate) struct RequestFacts {
    /// What the client speaks.
    pub(crate) revision: Revision,
    pub(crate) about: About,
    /// True if it brought a state from an earlier round.
    pub(crate) has_state: bool,
}

/// What a request is about, in the client's words.
#[derive(Debug, Clone)]
pub(crate) enum About {
    Tool(ByteString),
    /// A prompt to be filled in.
    Prompt(String),
    /// The resource of this URI.
    Resource(Action, String),
    /// An argument to be completed.
    Completion(Reference),
    /// A method of an extension.
    Extension(String),
    /// The task of this token.
    Task(Action, String),
}

impl About {
    pub(crate) fn target(&self) -> Target<'_> {
        match self {
            About::Tool(name) => Target::Tool(name),
            About::Prompt(name) => Target::Prompt { action: Action::GetPrompt, name },
            About::Resource(action, uri) => Target::Resource { action: *action, uri },
            About::Completion(Reference::Prompt(name)) => Target::Prompt { action: Action::Complete, name },
            About::Completion(Reference::Resource(uri)) => Target::Resource { action: Action::Complete, uri },
            About::Extension(method) => Target::Extension(method),
            About::Task(action, token) => Target::Task { action: *action, token },
        }
    }

    /// What logs say of it: no URI, no token and no method that a client made up.
    pub(crate) fn logged(&self) -> &str {
        match self.target() {
            Target::Tool(name) => name,
            Target::Extension(_) => "extension",
            Target::Prompt { action, .. } | Target::Resource { action, .. } | Target::Task { action, .. } => {
                action.name()
            }
        }
    }
}

//! What a request was, as far as its answer depends on it.

use wire::Revision;

/// What a request was, as far as its answer depends on it.
#[derive(Debug, Clone)]
pub(crate) struct RequestFacts {
    /// What the client speaks.
    pub(crate) revision: Revision,
    /// What it asked for.
    pub(crate) about: About,
    /// True if it brought a state from an earlier round.
    pub(crate) has_state: bool,
}

/// What a request is about.
#[derive(Debug, Clone)]
pub(crate) enum About {
    /// The use of a tool.
    Tool,
    /// A prompt.
    Prompt,
    /// The resource of this URI.
    Resource(String),
    /// An argument to be completed.
    Completion,
    /// A method of an extension.
    Extension,
    /// The task of this token.
    Task(String),
}

impl RequestFacts {
    /// Something about a resource.
    pub(crate) fn resource(revision: Revision, uri: &str) -> RequestFacts {
        RequestFacts { revision, about: About::Resource(uri.to_owned()), has_state: false }
    }
}

//! `Kind`: what a list of a server is of.

use pins::What;

/// What a list is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl Kind {
    pub(crate) const ALL: [Kind; 4] = [Kind::Tools, Kind::Prompts, Kind::Resources, Kind::Templates];

    /// Those that are read again; the templates are with the resources.
    pub(crate) const REFRESHED: [Kind; 3] = [Kind::Tools, Kind::Prompts, Kind::Resources];

    /// What is asked for the list.
    pub(crate) fn method(self) -> &'static str {
        match self {
            Kind::Tools => "tools/list",
            Kind::Prompts => "prompts/list",
            Kind::Resources => "resources/list",
            Kind::Templates => "resources/templates/list",
        }
    }

    /// The member of the answer that is the list.
    pub(crate) fn member(self) -> &'static str {
        if self == Kind::Templates { "resourceTemplates" } else { self.noun() }
    }

    /// The entries in a sentence.
    pub(crate) fn noun(self) -> &'static str {
        self.what().trim_start_matches("list its ")
    }

    /// One entry in a sentence.
    pub(crate) fn singular(self) -> &'static str {
        self.noun().trim_end_matches('s')
    }

    /// What an entry must have.
    pub(crate) fn needs(self) -> &'static str {
        match self {
            Kind::Tools => "a tool needs a name and an object as `inputSchema`",
            Kind::Prompts => "a prompt needs a name",
            Kind::Resources => "a resource needs a `uri`",
            Kind::Templates => "a resource template needs a `uriTemplate`",
        }
    }

    /// What a server that does not list them in time failed to do.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Kind::Tools => "list its tools",
            Kind::Prompts => "list its prompts",
            Kind::Resources => "list its resources",
            Kind::Templates => "list its resource templates",
        }
    }

    /// The same in the terms of pins.
    pub(crate) fn item(self) -> What {
        match self {
            Kind::Tools => What::Tool,
            Kind::Prompts => What::Prompt,
            Kind::Resources => What::Resource,
            Kind::Templates => What::Template,
        }
    }
}

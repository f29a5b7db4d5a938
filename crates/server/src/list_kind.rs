//! The four lists, and what clients are told when one has changed.

use gate::Versions;

/// What there are lists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ListKind {
    /// `tools/list`.
    Tools,
    /// `prompts/list`.
    Prompts,
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    Templates,
}

/// What a client is told of a changed list of tools.
pub(crate) const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
/// The same for prompts.
pub(crate) const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
/// The same for resources and templates.
pub(crate) const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";

/// What is told of a resource that has changed.
pub(crate) const RESOURCE_UPDATED: &str = "notifications/resources/updated";

impl ListKind {
    /// The version of this list among all.
    pub(crate) fn version(self, versions: &Versions) -> u64 {
        match self {
            ListKind::Tools => versions.tools,
            ListKind::Prompts => versions.prompts,
            ListKind::Resources | ListKind::Templates => versions.resources,
        }
    }
}

//! Why a rule does not fit a call.

/// What in a rule does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misfit {
    /// The tool's name.
    Tool,
    /// Whose tool it is.
    Upstream,
    /// What is done.
    Action,
    /// Who calls.
    Caller,
    /// What sort of caller it is.
    Kind,
    /// What the caller is.
    Role,
    /// What the caller was granted.
    Scope,
    /// The door the caller came through.
    Via,
    /// What the tool does.
    Effect,
    /// Whether the tool sends something off this machine.
    LeavesMachine,
}

impl Misfit {
    /// The key of the rule that does not fit.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Tool => "tools",
            Self::Upstream => "upstream",
            Self::Action => "actions",
            Self::Caller => "callers",
            Self::Kind => "kinds",
            Self::Role => "roles",
            Self::Scope => "scopes",
            Self::Via => "via",
            Self::Effect => "effects",
            Self::LeavesMachine => "leaves_machine",
        }
    }
}

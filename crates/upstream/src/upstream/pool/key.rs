//! For whose calls a connection is.

use std::sync::Arc;

use crate::profiles::Profile;

/// For whose calls a connection is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) whose: Whose,
    /// What the server was told that its clients can do.
    pub(crate) profile: Profile,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Whose {
    Everybody,
    Caller(Arc<str>),
    Conversation(u64),
}

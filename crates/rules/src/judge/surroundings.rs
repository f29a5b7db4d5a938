//! What a call is judged in.

use crate::vocabulary::Vocabulary;
use crate::workspace::Workspace;

/// What a call is judged in.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    /// Whether what runs the call is on this machine.
    pub(crate) is_local: bool,
    /// What paths in rules are relative to.
    pub(crate) workspace: &'a Workspace,
    /// The protocol's words.
    pub(crate) vocabulary: &'a Vocabulary,
}

//! `NotFollowed`: why a reference leads nowhere.

/// Why a reference was not followed, in a sentence about the place it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotFollowed {
    /// The table cannot be used.
    Wrong(String),
    /// The table is right, and its server fails until what is missing is there.
    Missing(String),
}

//! What a tool may ask about secrets: never which, only whether.

/// Tells what a caller has not been shown, for a tool that must not destroy it.
pub trait Secrets: Send + Sync {
    /// The lines of `text`, counted from 1, with what callers are shown in place of a secret.
    fn placeholder_lines(&self, text: &[u8]) -> Vec<usize>;

    /// True if something of `text` would be struck out before a caller reads it.
    fn are_in(&self, text: &[u8]) -> bool;
}

//! What a tool may ask about secrets: never which, only whether; and what takes them out.

/// Tells what a caller has not been shown, for a tool that must not destroy it.
pub trait Secrets: Send + Sync {
    /// The lines of `text`, counted from 1, with what callers are shown in place of a secret.
    fn placeholder_lines(&self, text: &[u8]) -> Vec<usize>;

    /// True if something of `text` would be struck out before a caller reads it.
    fn are_in(&self, text: &[u8]) -> bool;

    /// What strikes secrets out of a text that comes in pieces. Whoever gives back a part of one needs it: of what has been
    /// cut, nobody knows any more that it was a secret.
    fn striking(&self) -> Box<dyn Striking>;
}

/// Strikes secrets out of one text.
pub trait Striking: Send {
    /// Takes the next piece, and gives what is certain by now; often nothing.
    fn push(&mut self, piece: &[u8]) -> Vec<u8>;

    /// What is left.
    fn finish(&mut self) -> Vec<u8>;
}

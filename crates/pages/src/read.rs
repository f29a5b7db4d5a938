//! `Read`: what comes of a page, whatever it was.

use crate::html::frames::Frames;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) title: String,
    pub(crate) content: String,
    /// What is not in it.
    pub(crate) frames: Frames,
}

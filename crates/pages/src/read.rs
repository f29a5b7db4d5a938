//! `Read`: what comes of a page, whatever it was.

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) title: String,
    pub(crate) content: String,
    /// What is not in it.
    pub(crate) frames: Frames,
}

/// The frames of a page that came without what stands in them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Frames {
    pub(crate) count: usize,
    /// Some of them, each once.
    pub(crate) addresses: Vec<String>,
}

//! `Read`: what comes of a page, whatever it was.

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) title: String,
    pub(crate) content: String,
}

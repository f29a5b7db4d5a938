//! Tools that reach the web.

mod document;
mod plain;
pub(crate) mod read_docs;
pub(crate) mod search;
mod shown;

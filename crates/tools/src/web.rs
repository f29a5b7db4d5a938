//! Tools that reach the web.

mod conversion;
mod html;
mod plain;
pub(crate) mod read_docs;
pub(crate) mod search;
mod shown;

//! Tools for the files of the workspace: the folder the operator opened, and nothing outside it.

mod content;
pub(crate) mod file_error;
mod ignore_rules;
pub(crate) mod list;
mod listing;
mod media_type;
mod name_filter;
pub(crate) mod read;
pub(crate) mod text_encoding;
mod text_range;
mod walk;
pub(crate) mod write;

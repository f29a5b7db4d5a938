//! Tools for the files of the workspace: the folder the operator opened, and nothing outside it.

mod content;
pub(crate) mod delete;
pub(crate) mod edit;
mod edits;
pub(crate) mod file_error;
pub(crate) mod find;
#[cfg(test)]
mod gone_tests;
mod ignore_rules;
mod lines_told;
pub(crate) mod list;
mod listing;
mod look_alikes;
mod media_type;
pub(crate) mod move_entry;
mod mover;
mod name_filter;
mod near_misses;
mod near_paths;
pub(crate) mod patch;
pub(crate) mod read;
pub(crate) mod read_image;
pub(crate) mod restore;
pub(crate) mod search;
pub(crate) mod text_encoding;
mod text_range;
mod walk;
mod whole_text;
pub(crate) mod write;
mod writer;

//! The built-in tools, one file each, grouped by noun. This file is the list of all of them.
//!
//! A tool knows only `tool_api`: it is handed what it may touch, and what may be called by whom is
//! decided elsewhere.

mod list;
mod offer;
mod plain_schema;
mod result;
mod workspace;

pub use list::all;
pub use offer::{Budgets, Config, Set};

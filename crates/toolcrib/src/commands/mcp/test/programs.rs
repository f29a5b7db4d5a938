//! The names of the programs that could be started here, for whoever has misspelt one.
#![expect(
    clippy::disallowed_methods,
    reason = "looks through the folders of PATH, which are not the workspace's"
)]

use std::collections::BTreeSet;

use config::{Flags, Surroundings};

/// A PATH leads to a few thousand programs; more are not looked at.
const PROGRAMS_MAX: usize = 20_000;

/// The names of all files in the folders of PATH.
pub(crate) fn on_path() -> Vec<String> {
    let surroundings = Surroundings::of_process(Flags::default()).unwrap_or_default();
    let path = surroundings.variable("PATH").unwrap_or_default();
    let folders = std::env::split_paths(path).filter_map(|folder| std::fs::read_dir(folder).ok());
    let entries = folders.flat_map(|entries| entries.flatten()).take(PROGRAMS_MAX);
    let names: BTreeSet<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.into_iter().collect()
}

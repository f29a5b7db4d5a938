//! What is asked of a search, and what came of one file.

use std::sync::Arc;

use grep_regex::RegexMatcher;
use schemars::JsonSchema;
use serde::Deserialize;
use tool_api::{Inside, Secrets};

use super::super::name_filter::NameFilter;
use super::in_file::Found;

/// What is said of each file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum Mode {
    #[default]
    Lines,
    Files,
    Counts,
}

/// What is asked for.
pub(super) struct Asked {
    pub(super) start: Inside,
    pub(super) filter: NameFilter,
    pub(super) matcher: RegexMatcher,
    pub(super) mode: Mode,
    pub(super) context: usize,
    pub(super) ignored: bool,
    pub(super) limit: usize,
    pub(super) after: Option<Inside>,
    pub(super) after_line: Option<u64>,
    pub(super) text_bytes_max: usize,
    pub(super) secrets: Option<Arc<dyn Secrets>>,
}

/// What came of a file.
pub(super) enum Searched {
    Found(Found),
    /// A rule is about it.
    Withheld,
    Failed(String),
}

//! Tools for finding tools, in place of a list of all of them: what `exposure = "search"` shows an agent.

pub(crate) mod call;
pub(crate) mod describe;
mod ranking;
pub(crate) mod search;
mod search_words;

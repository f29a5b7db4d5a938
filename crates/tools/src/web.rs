//! Tools that reach the web.

pub(crate) mod search;

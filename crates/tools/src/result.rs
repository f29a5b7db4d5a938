//! Tools for the results of servers that are too long for one answer.

pub(crate) mod read;

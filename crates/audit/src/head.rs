//! A point on the chain of the audit log.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::hash::Hash;

/// A point on the chain: the last record up to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The record's number; 0 before the first.
    pub seq: u64,
    /// The record's hash; all zeros before the first.
    pub hash: Hash,
}

impl Head {
    /// The chain before its first record.
    pub const START: Self = Self { seq: 0, hash: Hash::ZERO };

    /// Reads the written form.
    pub fn parse(text: &str) -> Option<Self> {
        let (seq, hash) = text.split_once(' ')?;
        Some(Self { seq: seq.parse().ok()?, hash: Hash::parse(hash.as_bytes())? })
    }
}

impl fmt::Display for Head {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.seq, self.hash)
    }
}

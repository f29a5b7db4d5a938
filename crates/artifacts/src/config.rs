//! The `[artifacts]` section: how long artifacts are kept, and how much of them.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use units::{Size, Span};

/// A day: whoever reads on does so within minutes, and a person the next morning.
const KEEP: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest that can be set. The index is read whole, and what is old is somebody else's affair.
const KEEP_MAX: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// The least: shorter is gone before it can be read on.
const KEEP_MIN: Duration = Duration::from_secs(60);

/// What one caller may have: two of the largest build logs.
const CALLER_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// What all have together.
const TOTAL_BYTES: u64 = 8 * 1024 * 1024 * 1024;

/// Results that are too large for an answer: how long they are kept, and how much of them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How long an artifact is kept, between a minute and 90 days.
    pub keep: Span,
    /// The most that one caller's artifacts have in all, and so the largest of them. The caller's oldest make room.
    pub caller: Size,
    /// The most that all callers' artifacts have in all. Nobody's make room for another's.
    pub total: Size,
}

impl Default for Config {
    fn default() -> Config {
        Config { keep: Span(KEEP), caller: Size(CALLER_BYTES), total: Size(TOTAL_BYTES) }
    }
}

/// What may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For how long, in milliseconds.
    pub keep_ms: i64,
    /// How many bytes of one caller.
    pub caller_bytes: u64,
    /// How many bytes in all.
    pub total_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Config::default().limits()
    }
}

impl Config {
    /// Every key whose value is out of its range, with why.
    pub fn check(&self) -> Vec<(&'static str, String)> {
        let mut wrong = Vec::new();
        if !(KEEP_MIN..=KEEP_MAX).contains(&self.keep.0) {
            wrong.push(("keep", format!("must be between {} and {}", Span(KEEP_MIN), Span(KEEP_MAX))));
        }
        if self.caller > self.total {
            wrong.push(("caller", "must not be more than `artifacts.total`".to_owned()));
        }
        wrong
    }

    /// What may be kept.
    pub fn limits(&self) -> Limits {
        Limits {
            keep_ms: i64::try_from(self.keep.0.as_millis()).unwrap_or(i64::MAX),
            caller_bytes: self.caller.0,
            total_bytes: self.total.0,
        }
    }
}

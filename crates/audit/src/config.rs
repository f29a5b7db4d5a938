//! The `[audit]` section.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Size, Span};

/// A segment is closed at this age at the latest, so that retention by age has something to remove.
const SEGMENT_AGE_MAX: Duration = Duration::from_secs(30 * 86_400);

/// Retention removes whole segments; this many make up the time or the size that is kept.
const SEGMENTS_KEPT_MIN: u32 = 8;

/// The smallest and the largest segment, in bytes: larger than any batch, and still a file that tools open.
const SEGMENT_BYTES_MIN: u64 = 1024 * 1024;
const SEGMENT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The shortest time that records are kept.
const KEEP_MIN: Duration = Duration::from_secs(3_600);

/// the audit log of calls: what is noted, and how long it is kept. All folders write in one audit log, so only
/// your own file, or one that is named, says anything here.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How arguments are put down: `"redacted"` writes them without secrets (up to 8 KiB; larger ones as a hash),
    /// `"hash"` writes their hash and size only. A rule of the policy may say otherwise for a call.
    pub arguments: Arguments,
    /// Which calls wait until the note that they are about to run would survive a power cut: `"effects"`, all that may
    /// change something; `"destroys"`, those that destroy or run programs; `"never"`. The others are faster, and a power
    /// cut may leave no trace of them; the end of the program alone loses nothing either way.
    pub sync: SyncPolicy,
    /// How long records are kept at least, such as `"365d"`. They are removed in whole segments, so some stay longer.
    pub keep: Span,
    /// How large the audit log may become, such as `"1 GiB"`; the oldest segments are removed beyond it. At least 8 MiB.
    pub max_bytes: Size,
}

/// How arguments are put down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arguments {
    /// As they are, secrets struck out.
    Redacted,
    /// As a hash and a size.
    Hash,
}

/// For which calls the disk is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyncPolicy {
    /// For all that may change something.
    Effects,
    /// For those that destroy something or run programs.
    Destroys,
    /// For none.
    Never,
}

impl SyncPolicy {
    /// Whether a call waits whose tool has this effect. What is no effect that we know waits.
    pub(crate) fn waits(self, effect: Option<&str>) -> bool {
        match self {
            SyncPolicy::Effects => true,
            SyncPolicy::Destroys => !matches!(effect, Some("reads" | "writes")),
            SyncPolicy::Never => false,
        }
    }
}

impl Default for Config {
    fn default() -> Config {
        Config {
            arguments: Arguments::Redacted,
            sync: SyncPolicy::Effects,
            keep: Span(Duration::from_secs(365 * 86_400)),
            max_bytes: Size(1 << 30),
        }
    }
}

/// A value of the section that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("audit.{key}: {why}")]
pub struct Problem {
    /// The key.
    pub key: &'static str,
    /// Why not, as a sentence.
    pub why: String,
}

impl Config {
    /// Checks every value.
    ///
    /// # Errors
    /// All that cannot be used.
    pub fn check(&self) -> Result<(), Vec<Problem>> {
        let mut problems = Vec::new();
        if self.keep.0 < KEEP_MIN {
            let why = format!("{} is too short; keep records for at least {}", self.keep, Span(KEEP_MIN));
            problems.push(Problem { key: "keep", why });
        }
        let least = Size(SEGMENT_BYTES_MIN * u64::from(SEGMENTS_KEPT_MIN));
        if self.max_bytes.0 < least.0 {
            let why = format!("{} is too little; give the audit log at least {least}", self.max_bytes);
            problems.push(Problem { key: "max_bytes", why });
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// How large a segment becomes before it is closed.
    pub(crate) fn segment_bytes(&self) -> u64 {
        (self.max_bytes.0 / u64::from(SEGMENTS_KEPT_MIN)).clamp(SEGMENT_BYTES_MIN, SEGMENT_BYTES_MAX)
    }

    /// How old a segment becomes before it is closed, in milliseconds.
    pub(crate) fn segment_age_ms(&self) -> i64 {
        ms((self.keep.0 / SEGMENTS_KEPT_MIN).min(SEGMENT_AGE_MAX))
    }

    /// How long records are kept, in milliseconds.
    pub(crate) fn keep_ms(&self) -> i64 {
        ms(self.keep.0)
    }
}

fn ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_good_and_their_segments_small_enough_to_remove() {
        let config = Config::default();
        assert_eq!(config.check(), Ok(()));
        assert_eq!((config.segment_bytes(), config.segment_age_ms()), (64 << 20, 30 * 86_400_000));
        let small = Config { max_bytes: Size(8 << 20), keep: Span(KEEP_MIN), ..config };
        assert_eq!(small.check(), Ok(()));
        assert_eq!((small.segment_bytes(), small.segment_age_ms()), (1 << 20, 450_000));
    }

    #[test]
    fn what_would_keep_nothing_is_refused() {
        let config = Config { keep: Span(Duration::ZERO), max_bytes: Size(4096), ..Config::default() };
        let problems = config.check().expect_err("both are too small");
        let told: Vec<String> = problems.iter().map(Problem::to_string).collect();
        assert_eq!(
            told,
            [
                "audit.keep: 0s is too short; keep records for at least 1h",
                "audit.max_bytes: 4 KiB is too little; give the audit log at least 8 MiB",
            ]
        );
    }
}

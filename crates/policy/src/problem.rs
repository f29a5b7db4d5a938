//! What is wrong with a `[policy]` section: all of it, each with the keys it stands under.

use std::fmt;

/// Everything that is wrong with a `[policy]` section.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// At least one.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong, or one that is odd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The keys below `[policy]`; members of lists go by their number, such as `rules`, `2`, `when`.
    pub keys: Vec<String>,
    /// A sentence without a full stop.
    pub what: String,
}

impl Problem {
    pub(crate) fn at<const N: usize>(keys: [&str; N], what: impl Into<String>) -> Problem {
        Problem { keys: keys.map(str::to_owned).to_vec(), what: what.into() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentences: Vec<&str> = self.problems.iter().map(|problem| &*problem.what).collect();
        out.write_str(&sentences.join("; "))
    }
}

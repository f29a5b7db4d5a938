//! How the program is doing, for whoever may ask.

/// How the program is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// As it should.
    Ok,
    /// Calls are served, but for those for which something must be kept.
    Degraded(String),
    /// Calls that change something are refused.
    NotReady(String),
}

impl Condition {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Condition::Ok => "ok",
            Condition::Degraded(_) => "degraded",
            Condition::NotReady(_) => "not_ready",
        }
    }

    /// What is wrong and what to try, without a path.
    pub fn problem(&self) -> Option<&str> {
        match self {
            Condition::Ok => None,
            Condition::Degraded(problem) | Condition::NotReady(problem) => Some(problem),
        }
    }
}

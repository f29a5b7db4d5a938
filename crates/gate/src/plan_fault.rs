//! Why a call does not follow the dry run that it names.

/// Why a plan is not followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanFault {
    /// None of this hash is known.
    #[error(
        "there is no dry run of this call with this `plan_hash`, or it is older than an hour; make one first"
    )]
    Unknown,
    /// The files are others by now.
    #[error(
        "`{0}` has changed since the dry run, so what was shown is not what would happen; make another one"
    )]
    Outdated(String),
    /// They cannot be looked up, and what cannot be checked is not done.
    #[error("the dry runs that were made cannot be looked up, so this call is not made: {0}")]
    Unavailable(String),
}

impl PlanFault {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            PlanFault::Unknown => "unknown_plan",
            PlanFault::Outdated(_) => "plan_outdated",
            PlanFault::Unavailable(_) => "plans_unavailable",
        }
    }
}

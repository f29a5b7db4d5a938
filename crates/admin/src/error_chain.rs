//! An error with all its causes, in one sentence.

/// What went wrong with all its causes; none of them holds what was kept.
pub fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |said, cause| format!("{said}: {cause}"))
}

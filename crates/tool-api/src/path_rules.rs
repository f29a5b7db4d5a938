//! What a tool may ask about a project's rules: whether one is about a path.

/// Tells which paths rules are about, for a tool that comes upon paths that its caller has not named.
pub trait PathRules: Send + Sync {
    /// True if a rule blocks, asks about or strikes out what a call does that names this path, as it is below the workspace.
    fn concern(&self, path: &str) -> bool;
}

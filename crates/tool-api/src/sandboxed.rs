//! `Sandboxed`: how the programs of a call ran, for its record and its caller.

/// The sandbox of a call's programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandboxed {
    /// The profile that they had.
    pub profile: &'static str,
    /// What made their namespaces: `"own"`, or `"bwrap"` where only that may.
    pub launcher: &'static str,
    /// Layers that they ran without, or with a weaker form of.
    pub degraded: Vec<&'static str>,
}

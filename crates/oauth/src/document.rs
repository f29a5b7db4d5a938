//! `Document`: one step of discovery as a person is shown it.

/// One step of discovery, for a person who looks for what is wrong with it. Holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// What was asked for.
    pub url: String,
    /// The HTTP status, or why there is none.
    pub status: Result<u16, String>,
    /// The text that came, at most 64 KiB.
    pub body: String,
}

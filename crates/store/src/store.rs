//! What must survive the end of the process, behind one trait.
//!
//! Today that is little: the tool definitions of upstreams, so that a list can be answered before any
//! upstream has started, and anchors, small facts that other parts check themselves against. What the
//! texts mean is their owners' affair. Every call blocks on the disk: callers keep them off the path
//! that answers requests.

#[cfg(test)]
mod conformance;
mod error;
mod folder;
mod schema;
mod sqlite;

pub use error::StoreError;
pub use folder::create_private;
pub use sqlite::SqliteStore;

/// The largest list of definitions kept for one upstream. Larger ones are fetched anew at each start.
pub const DEFINITIONS_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Configurations remembered per upstream. Projects that share a name for differing servers each keep
/// their own; a configuration that differs at every start must not fill the disk.
pub const FINGERPRINTS_PER_UPSTREAM_MAX: usize = 8;

/// An anchor is a fact of a line, not a document.
pub const ANCHOR_BYTES_MAX: usize = 4 * 1024;

/// The tools an upstream had when it was last asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definitions {
    /// The upstream's name in the configuration.
    pub upstream: String,
    /// Identifies the configuration the upstream was started with; another one has other definitions.
    pub fingerprint: String,
    /// The definitions as they came, a JSON text.
    pub tools_json: String,
    /// When they came, in milliseconds since 1970.
    pub fetched_at_ms: i64,
}

/// A place that remembers. Shared by threads, and by processes that serve the same user.
pub trait Store: Send + Sync {
    /// What is known of this upstream under this configuration.
    fn definitions(&self, upstream: &str, fingerprint: &str) -> Result<Option<Definitions>, StoreError>;

    /// Remembers definitions in place of older ones. Those of the [`FINGERPRINTS_PER_UPSTREAM_MAX`] latest
    /// configurations stay. Refuses more than [`DEFINITIONS_BYTES_MAX`].
    fn keep_definitions(&self, definitions: &Definitions) -> Result<(), StoreError>;

    /// Forgets an upstream under all its configurations. It is no error if nothing was known.
    fn forget_definitions(&self, upstream: &str) -> Result<(), StoreError>;

    /// The value last kept under this key.
    fn anchor(&self, key: &str) -> Result<Option<String>, StoreError>;

    /// Remembers a value in place of an older one; once this returns it survives a crash of the process.
    /// Refuses more than [`ANCHOR_BYTES_MAX`].
    fn keep_anchor(&self, key: &str, value: &str) -> Result<(), StoreError>;
}

//! The tool definitions of upstreams, so that a list can be answered before any upstream has started.

/// The largest list of definitions kept for one upstream. Larger ones are fetched anew at each start.
pub const DEFINITIONS_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Configurations remembered per upstream. Projects that share a name for differing servers each keep
/// their own; a configuration that differs at every start must not fill the disk.
pub const FINGERPRINTS_PER_UPSTREAM_MAX: usize = 8;

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

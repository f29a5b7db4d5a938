//! What tells the time.

/// Tells the time in milliseconds since 1970.
pub type Clock = fn() -> i64;

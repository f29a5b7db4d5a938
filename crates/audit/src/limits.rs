//! How much may wait before calls are refused.

/// Records that may wait for the disk: about 64 MiB, and seconds of the fastest callers.
pub const RECORDS_WAITING_MAX: usize = 65_536;

/// Bytes of arguments that may wait with them.
pub const ARGUMENTS_BYTES_WAITING_MAX: usize = 64 * 1024 * 1024;

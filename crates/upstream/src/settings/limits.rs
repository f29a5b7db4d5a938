//! How long things may take, how many at once, and when a server runs.

use std::time::Duration;

use crate::config::{Isolation, Restart};

/// How long a server may take from its start to the end of the handshake, unless its table says otherwise.
pub const START_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a server may take to list what it has, unless its table says otherwise.
pub const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// Processes of a program that asks its clients, unless its table says otherwise: so many people may think at once.
pub(super) const PROCESSES: u8 = 8;

/// The shortest and the longest time that one call may be given.
pub const CALL_TIMEOUT_MIN: Duration = Duration::from_millis(1);
/// See [`CALL_TIMEOUT_MIN`].
pub const CALL_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// How long things may take, and how many at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From the start to the end of the handshake.
    pub start: Duration,
    /// To list everything.
    pub list: Duration,
    /// One call without a sign of progress.
    pub call: Duration,
    /// One call, however much progress it reports.
    pub call_max: Duration,
    /// Calls at once; further ones wait. No limit if absent.
    pub concurrency: Option<u16>,
    /// Processes of a program that asks its clients, each for the calls of one conversation at a time.
    pub processes: u8,
}

/// When a server runs, and for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Life {
    /// True if nothing but a call starts it.
    pub(crate) on_demand: bool,
    /// It is stopped after so long without anything to do.
    pub(crate) idle: Option<Duration>,
    pub(crate) restart: Restart,
    pub(crate) isolation: Isolation,
}

//! Who calls from the command line.

use gate::{Caller, Via};

/// Whoever types a command is the local user.
pub(super) fn caller() -> Caller {
    Caller::local_user(Via::CommandLine)
}

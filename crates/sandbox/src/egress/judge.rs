//! `Judge`: whoever decides about a destination that no rule names, while the program waits for its connection. Who that is
//! and how it is decided is not known here.

use std::fmt;

use super::dial::BoxFuture;
use super::host::{Destination, Host};
use super::reason::Reason;

/// Decides about what no rule names. It is asked about nothing that no person could allow: this machine, addresses that are
/// not those of the open internet, and what a folder's rules keep out.
pub trait Judge: Send + Sync {
    /// Whether the program may be connected. It waits meanwhile, so this must end by itself.
    ///
    /// # Errors
    /// It may not, for this reason.
    fn allows<'a>(&'a self, to: &'a Destination) -> BoxFuture<'a, Result<(), Reason>>;

    /// Which call the program works for, where it works for one after the other; nothing while it may be connected to nothing at
    /// all, also not to what a rule names. A connection that one call wanted is never made in the time of another.
    fn turn(&self) -> Option<u64> {
        Some(0)
    }
}

impl fmt::Debug for dyn Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Judge")
    }
}

/// Names below these are of one network or of one machine (RFC 6761, RFC 8375, and what ICANN keeps for private use).
const OF_ONE_NETWORK: [&str; 7] = ["arpa", "home", "internal", "invalid", "lan", "local", "localhost"];

/// Whether a name may be one of the open internet, as far as it tells by itself. Nothing is looked up: where a program sends
/// what it knows in the names that it asks for, a look is all it needs.
pub(super) fn is_of_the_internet(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, last)| !OF_ONE_NETWORK.contains(&last))
}

/// The host, if it is a name that may come to be judged.
pub(super) fn judged_name(host: &Host) -> Option<&str> {
    match host {
        Host::Name(name) if is_of_the_internet(name) => Some(name),
        Host::Name(_) | Host::Localhost | Host::Address(_) => None,
    }
}

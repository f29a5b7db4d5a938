//! How many files and connections the process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What is asked for, if the system allows as much: the connections of the doors, and the pipes of the upstreams. Not
/// more, since upstreams inherit it, and some programs touch every number below it when they start.
const OPEN_FILES: u64 = 65_536;

/// Raises the limit. Many systems begin with 1,024, which is fewer than the clients that the door over HTTP takes.
pub fn raise_limit() {
    let now = getrlimit(Resource::Nofile);
    let wanted = now.maximum.map_or(OPEN_FILES, |most| most.min(OPEN_FILES));
    if now.current.is_some_and(|current| current < wanted)
        && let Err(error) =
            setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: now.maximum })
    {
        tracing::warn!(%error, "the limit of open files stays low; new connections may have to wait");
    }
}

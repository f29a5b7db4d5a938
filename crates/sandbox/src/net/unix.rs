//! Connections to servers of this machine, by the path of a Unix socket.

use std::io;
use std::path::Path;

use tokio::net::UnixStream;
use tokio::time::timeout;

use super::connect::CONNECT_TIMEOUT;

/// Connects to the Unix socket at `path`, within [`CONNECT_TIMEOUT`]: a server that takes in nobody lets the
/// system's queue run full.
///
/// # Errors
/// What the system says; `TimedOut` if the server takes too long.
#[expect(clippy::disallowed_methods, reason = "the one way out to a socket")]
pub async fn connect_unix(path: &Path) -> io::Result<UnixStream> {
    timeout(CONNECT_TIMEOUT, UnixStream::connect(path))
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

//! Taking the address.

use std::net::SocketAddr;

use tokio::net::TcpListener;

use crate::{Config, Problem};

/// The address cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Somebody else has it.
    #[error(
        "{0} is in use by another program; stop that one, or set another address with `bind` in the [server] \
         section (server.bind = \"127.0.0.1:3001\"; port 0 takes any free one)"
    )]
    InUse(SocketAddr),
    /// The section cannot be used.
    #[error(transparent)]
    NotAllowed(#[from] Problem),
    /// Anything else.
    #[error("server.bind: cannot listen on {0}")]
    Other(SocketAddr, #[source] std::io::Error),
}

/// Listens on the configured address.
///
/// # Errors
/// Each names the setting to change.
pub async fn bind(config: &Config) -> Result<TcpListener, BindError> {
    if let Some(problem) = config.check().err().and_then(|problems| problems.into_iter().next()) {
        return Err(problem.into());
    }
    TcpListener::bind(config.bind).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => BindError::InUse(config.bind),
        _ => BindError::Other(config.bind, error),
    })
}

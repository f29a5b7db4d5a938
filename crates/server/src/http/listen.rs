//! Taking the address.

use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::tls::{Listener, TlsFault, acceptor};
use crate::identity::Identity;
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
    /// Other machines would reach it, and there is nobody whom it could let in.
    #[error(
        "server.bind: {0} can be reached from other machines, and nothing says who may call; create a key with \
         `toolcrib keys create NAME`, or name an issuer of tokens under [[identity.issuers]], or use a loopback \
         address such as 127.0.0.1:{port}",
        port = .0.port()
    )]
    Exposed(SocketAddr),
    /// It cannot be found out whether there are keys.
    #[error(
        "server.bind: {0} can be reached from other machines, and the keys of those who may call cannot be read"
    )]
    NoKeys(SocketAddr),
    /// What it would show cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsFault),
    /// Anything else.
    #[error("server.bind: cannot listen on {0}")]
    Other(SocketAddr, #[source] std::io::Error),
}

/// Whether the configured address may be listened on: one that other machines reach only if `identity` knows anybody.
///
/// # Errors
/// Each names the setting to change.
pub async fn check(config: &Config, identity: &Identity) -> Result<(), BindError> {
    permitted(config, identity).await.map(drop)
}

/// The same, with what is needed to agree on TLS, if that is configured.
async fn permitted(config: &Config, identity: &Identity) -> Result<Option<TlsAcceptor>, BindError> {
    if let Some(problem) = config.check().err().and_then(|problems| problems.into_iter().next()) {
        return Err(problem.into());
    }
    if !config.bind.ip().is_loopback() {
        match identity.knows_anybody().await {
            Ok(true) => {}
            Ok(false) => return Err(BindError::Exposed(config.bind)),
            Err(_) => return Err(BindError::NoKeys(config.bind)),
        }
    }
    tls(config).await
}

async fn tls(config: &Config) -> Result<Option<TlsAcceptor>, BindError> {
    let Some(files) = config.tls.clone() else { return Ok(None) };
    let read = tokio::task::spawn_blocking(move || acceptor(&files)).await;
    Ok(Some(read.map_err(|why| BindError::Other(config.bind, why.into()))??))
}

/// Listens on the configured address, if it may be listened on.
///
/// # Errors
/// Each names the setting to change.
pub async fn bind(config: &Config, identity: &Identity) -> Result<Listener, BindError> {
    let tls = permitted(config, identity).await?;
    #[expect(clippy::disallowed_methods, reason = "the one listener for HTTP")]
    let listener = TcpListener::bind(config.bind).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => BindError::InUse(config.bind),
        _ => BindError::Other(config.bind, error),
    })?;
    let address = listener.local_addr().map_err(|error| BindError::Other(config.bind, error))?;
    identity.served_at(config.scheme(), address);
    Ok(Listener::new(listener, tls))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gate::Role;

    use super::*;
    use crate::identity;
    use gate::keys::KeyRequest;

    #[tokio::test]
    async fn other_machines_reach_only_a_server_that_knows_somebody() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Arc::new(store::SqliteStore::at(folder.path()));
        let identity = |store: Arc<store::SqliteStore>| {
            let (config, client) = (&identity::Config::default(), sandbox::Client::new());
            Identity::new(config, Some(true), store, client, || 0)
        };
        let config = |bind: &str| Config { bind: bind.parse().expect("a sample"), ..Config::default() };
        let refused = bind(&config("0.0.0.0:0"), &identity(store.clone()))
            .await
            .map(drop)
            .expect_err("nobody is known");
        let said = refused.to_string();
        assert!(
            said.starts_with("server.bind: 0.0.0.0:0 can be reached") && said.contains("keys create"),
            "{said}"
        );
        assert!(bind(&config("127.0.0.1:0"), &identity(store.clone())).await.is_ok());
        let (name, roles) = ("ci".to_owned(), Role::Agent.into());
        let request = KeyRequest { name, roles, scopes: None, person: false, now_ms: 0, expires_ms: None };
        gate::keys::create(&*store, request).expect("created");
        assert!(bind(&config("0.0.0.0:0"), &identity(store)).await.is_ok());
        let file = tempfile::NamedTempFile::new().expect("a file");
        let unreadable = Arc::new(store::SqliteStore::at(&file.path().join("state")));
        let refused =
            bind(&config("0.0.0.0:0"), &identity(unreadable)).await.map(drop).expect_err("it is unknown");
        assert!(matches!(refused, BindError::NoKeys(_)), "{refused}");
    }
}

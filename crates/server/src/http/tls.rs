//! TLS on the door over HTTP, from certificate files: for machines beyond this one where no proxy stands before us.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sandbox::text_file;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

use crate::config::Tls;

/// How long a client may take to agree on a connection.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

/// Largest file of certificates or of a key, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// A file that TLS cannot be served with.
#[derive(Debug, thiserror::Error)]
#[error("server.tls.{key}: {path} {why}", path = .path.display())]
pub struct TlsFault {
    key: &'static str,
    path: PathBuf,
    why: String,
}

/// An address that is listened on, with TLS or without.
pub struct Listener {
    tcp: TcpListener,
    tls: Option<TlsAcceptor>,
}

/// What is needed to agree on connections.
pub(super) fn acceptor(tls: &Tls) -> Result<TlsAcceptor, TlsFault> {
    let fault = |key, path: &Path, why: String| TlsFault { key, path: path.to_owned(), why };
    let (certificate, key) = (tls.certificate.as_path(), tls.key.as_path());
    let text = text_file::read(certificate, FILE_BYTES_MAX);
    let text = text.map_err(|why| fault("certificate", certificate, format!("cannot be read: {why}")))?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    let chain = chain.ok().filter(|chain| !chain.is_empty());
    let chain = chain.ok_or_else(|| fault("certificate", certificate, "has no certificate in PEM".into()))?;
    let text = text_file::read_own(key, FILE_BYTES_MAX);
    let text = text.map_err(|why| fault("key", key, format!("cannot be read: {why}")))?;
    let text = text.map_err(|exposed| fault("key", key, exposed.to_string()))?;
    // What is wrong with a key quotes nothing of it.
    let private = PrivateKeyDer::from_pem_slice(text.as_bytes());
    let private = private.map_err(|_| fault("key", key, "has no private key in PEM".into()))?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(chain, private));
    let config =
        config.map_err(|why| fault("key", key, format!("does not go with the certificate: {why}")))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

impl Listener {
    pub(super) fn new(tcp: TcpListener, tls: Option<TlsAcceptor>) -> Listener {
        Listener { tcp, tls }
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The system does not say.
    pub fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    pub(super) async fn accept(&self) -> std::io::Result<(TcpStream, SocketAddr)> {
        self.tcp.accept().await
    }

    pub(super) fn tls(&self) -> Option<TlsAcceptor> {
        self.tls.clone()
    }
}

/// Agrees with a client; nothing if it does not come to that in time.
pub(super) async fn agree(acceptor: &TlsAcceptor, socket: TcpStream) -> Option<TlsStream<TcpStream>> {
    match tokio::time::timeout(HANDSHAKE_MAX, acceptor.accept(socket)).await {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a client did not agree on TLS");
            None
        }
        Err(_) => None,
    }
}

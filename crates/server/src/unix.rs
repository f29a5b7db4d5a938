//! The door on a Unix socket: the same lines as on standard input and output, one client on each connection, for
//! the user who started the program and nobody else.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, Mode, Stat, lstat, unlink};
use rustix::process::umask;
use sandbox::connect_unix;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

use crate::{Server, accept, stdio};

/// Most clients at once. Beyond it new ones wait in the system's queue.
const CLIENTS_MAX: usize = 1_000;

/// The path cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another program listens there.
    #[error(
        "{} is in use by another program; stop that one, or set another path with `socket` in the [server] section",
        .0.display()
    )]
    InUse(PathBuf),
    /// There is something that is no socket.
    #[error("server.socket: there is something else at {}; remove it, or set another path", .0.display())]
    NoSocket(PathBuf),
    /// Anything else.
    #[error("server.socket: cannot listen on {}", .0.display())]
    Other(PathBuf, #[source] io::Error),
}

/// A socket that clients can connect to. Its file is removed when it is dropped.
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    file: Option<Stat>,
}

/// Listens on a path. A socket that a dead program has left there is replaced.
///
/// # Errors
/// Each says what is in the way.
pub async fn bind(path: &Path) -> Result<Socket, BindError> {
    let other = |error| BindError::Other(path.to_owned(), error);
    let listener = match listen(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            make_way(path).await?;
            listen(path)
        }
        listener => listener,
    };
    let listener = listener.map_err(other)?;
    let file = lstat(path).ok();
    Ok(Socket { listener, path: path.to_owned(), file })
}

fn listen(path: &Path) -> io::Result<UnixListener> {
    // The file has its rights from its first moment on; to change them afterwards would leave one in between.
    let before = umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
    #[expect(clippy::disallowed_methods, reason = "the one listener at a socket")]
    let listener = UnixListener::bind(path);
    umask(before);
    listener
}

impl Socket {
    /// The next one who connects. May be dropped at any time.
    ///
    /// # Errors
    /// What the system says; it may take in others later.
    pub async fn accept(&self) -> io::Result<UnixStream> {
        self.listener.accept().await.map(|(connection, _)| connection)
    }
}

/// Removes a socket that a dead program has left, and nothing else.
///
/// # Errors
/// There is none, or it is another thing, or somebody listens there.
pub async fn make_way(path: &Path) -> Result<(), BindError> {
    let other = |error: io::Error| BindError::Other(path.to_owned(), error);
    let there = lstat(path).map_err(|error| other(error.into()))?;
    if FileType::from_raw_mode(there.st_mode) != FileType::Socket {
        return Err(BindError::NoSocket(path.to_owned()));
    }
    match connect_unix(path).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            unlink(path).map_err(|error| other(error.into()))
        }
        _ => Err(BindError::InUse(path.to_owned())),
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let now = lstat(&*self.path).ok();
        let identity = |file: &Stat| (file.st_dev, file.st_ino);
        // Another program may have put its own there.
        if now.is_some() && now.as_ref().map(identity) == self.file.as_ref().map(identity) {
            let _ = unlink(&*self.path);
        }
    }
}

/// Serves until `shutdown` resolves, then lets clients finish for a moment.
pub async fn serve(server: Arc<Server>, socket: Socket, shutdown: impl Future<Output = ()>) {
    let mut clients = JoinSet::new();
    tokio::select! {
        biased;
        () = shutdown => {}
        () = accept::each(&mut clients, CLIENTS_MAX, || socket.accept(), |one| client(server.clone(), one)) => {}
    }
    drop(socket);
    server.stopping.cancel();
    accept::drain(&mut clients).await;
    clients.shutdown().await;
}

async fn client(server: Arc<Server>, connection: UnixStream) {
    if let Err(error) = stdio::serve_connection(server, connection).await {
        tracing::debug!(%error, "a connection ended early");
    }
}

#[cfg(test)]
mod tests {
    #![expect(
        clippy::disallowed_methods,
        reason = "the tests stand in for clients, and for an older program"
    )]

    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a temporary folder can be made")
    }

    fn rights(path: &Path) -> u32 {
        lstat(path).expect("it is there").st_mode & 0o777
    }

    #[tokio::test]
    async fn only_the_owner_may_connect_and_the_file_goes_with_the_door() {
        let folder = folder();
        let path = folder.path().join("sock");
        let socket = bind(&path).await.expect("free");
        assert_eq!(rights(&path), 0o600);
        drop(socket);
        assert!(lstat(&path).is_err());
    }

    #[tokio::test]
    async fn a_socket_left_behind_is_replaced_and_nothing_else() {
        let folder = folder();
        let path = folder.path().join("sock");
        drop(UnixListener::bind(&path).expect("free"));
        assert!(lstat(&path).is_ok(), "left behind");
        let socket = bind(&path).await.expect("nobody listens");
        assert!(matches!(bind(&path).await, Err(BindError::InUse(_))));
        assert!(UnixStream::connect(&path).await.is_ok(), "the first one is still there");

        let other = folder.path().join("file");
        let file = rustix::fs::open(&other, rustix::fs::OFlags::CREATE, Mode::RUSR).expect("it can be made");
        assert!(matches!(bind(&other).await, Err(BindError::NoSocket(_))));
        assert!(lstat(&other).is_ok());
        drop(file);

        let nowhere = folder.path().join("nowhere/sock");
        assert!(matches!(bind(&nowhere).await, Err(BindError::Other(..))));

        // One that took its place meanwhile is not ours to remove.
        unlink(&path).expect("it is there");
        let newer = UnixListener::bind(&path).expect("free");
        drop(socket);
        assert!(lstat(&path).is_ok());
        drop(newer);
    }
}

//! A server that listens at a Unix socket of this machine and is spoken to in the same lines as a program over
//! its standard streams.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio::net::unix::OwnedReadHalf;
use tokio_util::sync::CancellationToken;

use super::exchange::Exchange;
use super::outbox::{Outbox, Pipe};
use super::pending::Parting;
use super::stdio::{Stdio, read};
use crate::error::ConnectError;
use crate::fault::Fault;

/// Connects to the server at `path` and speaks with it until it hangs up or the connection is dropped.
pub(super) async fn connect(path: &Path, exchange: &Arc<Exchange>) -> Result<Stdio, ConnectError> {
    let stream = sandbox::connect_unix(path).await.map_err(|error| not_connected(path, &error))?;
    let (reader, writer) = stream.into_split();
    Ok(Stdio::spawn(Pipe::Socket(writer), exchange, |exchange, outbox, ending| {
        run(reader, exchange, outbox, ending)
    }))
}

/// Reads until the server hangs up or is let go.
async fn run(reader: OwnedReadHalf, exchange: Arc<Exchange>, outbox: Arc<Outbox>, ending: CancellationToken) {
    let (parting, how) = tokio::select! {
        () = read(reader, &exchange, &outbox) => (Parting::ByItself, "closed the connection"),
        () = outbox.flush() => (Parting::ByItself, "closed the connection"),
        () = ending.cancelled() => (Parting::Dismissed, "was shut down"),
    };
    // From here on requests fail as not sent, and may go to the next connection.
    outbox.close();
    exchange.pending.end(parting, &Fault::Gone(how.to_owned()));
}

fn not_connected(path: &Path, error: &io::Error) -> ConnectError {
    let path = path.display();
    ConnectError::Request(Fault::NotSent(match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            format!("nobody listens at the socket {path}; check that the server is running")
        }
        io::ErrorKind::PermissionDenied => format!("no permission to connect to the socket {path}"),
        io::ErrorKind::TimedOut => format!("the server at the socket {path} took nobody in in time"),
        _ => format!("the socket {path} cannot be connected to: {error}"),
    }))
}

//! The handshake of the legacy revisions, seen from the client.

use wire::Revision;
use wire::initialize::{self, Ourselves, Welcome};

use crate::answer;
use crate::connection::{Connection, Fault};
use crate::error::ConnectError;

/// The revision we ask for. 2025-11-25 lets an HTTP server hang up before it answers and expects us to come
/// back for the rest; as long as we do not, we ask for the one before.
fn asked_for(connection: &Connection) -> Revision {
    match connection {
        Connection::Stdio(_) => Revision::LATEST,
        Connection::Http(_) => Revision::V2025_06_18,
    }
}

/// Opens the conversation and settles on a revision.
pub(crate) async fn shake(
    connection: &Connection,
    ourselves: Ourselves<'_>,
) -> Result<Welcome, ConnectError> {
    let hello = initialize::our_hello(asked_for(connection), ourselves);
    let reply = connection.ask("initialize", Some(&hello)).await.map_err(ConnectError::of)?;
    let result = reply.map_err(|error| answer::refused("initialize", &error))?;
    let welcome = initialize::read_welcome(&result)
        .map_err(|fault| ConnectError::of(Fault::Broken(fault.to_string())))?;
    connection.agreed(welcome.revision).await.map_err(ConnectError::of)?;
    Ok(welcome)
}

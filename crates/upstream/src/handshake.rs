//! The handshake of the legacy revisions, seen from the client.

use wire::Revision;
use wire::initialize::{self, Ourselves, Welcome};

use crate::answer;
use crate::connection::{Connection, Fault};
use crate::error::ConnectError;

/// Opens the conversation and settles on a revision.
pub(crate) async fn shake(
    connection: &Connection,
    ourselves: Ourselves<'_>,
) -> Result<Welcome, ConnectError> {
    let hello = initialize::our_hello(Revision::LATEST, ourselves);
    let reply = connection.ask("initialize", Some(&hello)).await.map_err(ConnectError::of)?;
    let result = reply.map_err(|error| answer::refused("initialize", &error))?;
    let welcome = initialize::read_welcome(&result)
        .map_err(|fault| ConnectError::of(Fault::Broken(fault.to_string())))?;
    connection.agreed(welcome.revision).await.map_err(ConnectError::of)?;
    Ok(welcome)
}

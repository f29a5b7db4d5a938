//! A question to the person behind a client, asked once when the client is ready, outside of any call. Only a client of a
//! session on standard input and output is asked: behind it is the one who started the program, and the younger
//! revision knows no requests to clients.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use gate::Cancel;
use tokio::task::spawn_blocking;

use crate::Server;
use crate::outgoing::Outbox;
use crate::rounds::Asker;
use crate::session::Session;

/// What is asked, and what becomes of the answer.
pub trait Greeting: Send + Sync {
    /// An `inputRequests` object; nothing if there is nothing to ask any more. May block on the disk.
    fn requests(&self) -> Option<Bytes>;

    /// Takes the `inputResponses` object.
    fn answered(&self, responses: Bytes) -> BoxFuture<'_, ()>;
}

/// Asks, if the client can be asked. One that cannot, or does not answer, is asked nothing more.
pub(crate) async fn greet(
    greeting: Arc<dyn Greeting>,
    server: Arc<Server>,
    session: Arc<Session>,
    outbox: Outbox,
) {
    let (approvals, askers) = (server.gate.approvals().clone(), session.askers());
    let asked = greeting.clone();
    // Both look at the disk.
    let requests =
        spawn_blocking(move || approvals.may_ask_client(&askers).then(|| asked.requests()).flatten());
    let Ok(Some(requests)) = requests.await else { return };
    let (client, _) = session.client();
    let asker = Asker {
        session: &session,
        capabilities: &client.capabilities,
        revision: session.revision(),
        outbox: Some(&outbox),
        cancel: &Cancel::new(),
        redactor: server.gate.redactor(),
        related: None,
    };
    if let Ok(Some(responses)) = asker.ask(Some(&requests), 1).await {
        greeting.answered(responses).await;
    }
}

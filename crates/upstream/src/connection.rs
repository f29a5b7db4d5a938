//! `Connection`: one open way to a server, whatever the transport. Any number of calls use it at once.
//!
//! Opening it again is left to `start`, and what the answers mean to `answer`.

mod exchange;
mod fault;
mod http;
mod outbox;
mod pending;
mod stderr;
mod stdio;

use std::sync::Arc;

use tool_api::{Context, Progress};
use wire::{Revision, tools};

pub(crate) use exchange::Exchange;
pub(crate) use fault::Fault;
pub(crate) use pending::{Reply, Waiting};
pub(crate) use stderr::Stderr;

use crate::World;
use crate::error::ConnectError;
use crate::settings::{Endpoint, Settings};

/// Where progress reports of a call go.
pub(crate) type Listener<'a> = &'a (dyn Fn(bytes::Bytes) + Send + Sync);

/// An open way to a server. Dropping it closes it; `end` closes it and waits.
pub(crate) enum Connection {
    Stdio(stdio::Stdio),
    Http(http::Http),
}

impl Connection {
    /// Starts the program, or gets ready to dial. Nothing has been said yet.
    pub(crate) fn open(
        settings: &Settings,
        world: &World,
        stderr: &Arc<Stderr>,
    ) -> Result<Connection, ConnectError> {
        let exchange = Arc::new(Exchange::new(settings.name.clone()));
        match &settings.endpoint {
            Endpoint::Program(program) => {
                stderr.clear();
                let tree = world.launcher.start(program);
                let tree = tree.map_err(|error| ConnectError::Start(error.to_string()))?;
                Ok(Connection::Stdio(stdio::Stdio::serve(tree, exchange, stderr.clone())))
            }
            Endpoint::Address { url, headers } => {
                Ok(Connection::Http(http::Http::new(world.client.clone(), url, headers, exchange)))
            }
        }
    }

    /// The messages under way.
    pub(crate) fn exchange(&self) -> &Arc<Exchange> {
        match self {
            Connection::Stdio(stdio) => &stdio.exchange,
            Connection::Http(http) => http.exchange(),
        }
    }

    /// Asks and waits for the answer. Without a limit of its own: dropping the future gives up.
    pub(crate) async fn ask(&self, method: &'static str, params: Option<&[u8]>) -> Result<Reply, Fault> {
        let waiting = self.exchange().begin(false)?;
        self.send(waiting, method, params, &|_| {}).await
    }

    /// Calls a tool with arguments that are JSON text. Giving up tells the server so.
    pub(crate) async fn call(&self, tool: &str, arguments: &str, cx: &Context) -> Result<Reply, Fault> {
        let waiting = self.exchange().begin(cx.wants_progress())?;
        let id = waiting.id();
        let token = cx.wants_progress().then(|| id.to_string());
        let params = tools::write_call_params(tool, arguments, cx.meta(), token.as_deref());
        tracing::debug!(target: "upstream", upstream = %self.exchange().name(), id, tool, "call");
        let mut guard = CancelOnDrop { connection: self, id, armed: true };
        let reply = self
            .send(waiting, "tools/call", Some(&params), &|report| cx.report(Progress::Relayed(report)))
            .await;
        guard.armed = false;
        reply
    }

    async fn send(
        &self,
        waiting: Waiting<'_>,
        method: &'static str,
        params: Option<&[u8]>,
        listener: Listener<'_>,
    ) -> Result<Reply, Fault> {
        match self {
            Connection::Stdio(stdio) => stdio.request(waiting, method, params, listener).await,
            Connection::Http(http) => http.request(waiting, method, params, listener).await,
        }
    }

    /// The handshake has settled on `revision`; tells the server that we are ready.
    pub(crate) async fn agreed(&self, revision: Revision) -> Result<(), Fault> {
        match self {
            Connection::Stdio(stdio) => stdio.notify("notifications/initialized", None),
            Connection::Http(http) => http.agreed(revision).await,
        }
    }

    /// Closes the connection and waits until nothing is left of it, for a bounded time.
    pub(crate) async fn end(&self) {
        match self {
            Connection::Stdio(stdio) => stdio.end().await,
            Connection::Http(http) => http.end().await,
        }
    }
}

/// Tells the server that nobody waits for a call any more, if its future is dropped.
struct CancelOnDrop<'a> {
    connection: &'a Connection,
    id: u64,
    armed: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        let params =
            format!("{{\"requestId\":{},\"reason\":\"nobody waits for the answer any more\"}}", self.id);
        match self.connection {
            // A server that is gone, or takes nothing in, need not know.
            Connection::Stdio(stdio) => {
                drop(stdio.notify("notifications/cancelled", Some(params.as_bytes())))
            }
            Connection::Http(http) => http.notify_later("notifications/cancelled", params.as_bytes()),
        }
    }
}

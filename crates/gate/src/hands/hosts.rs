//! `Hosts`: asks servers for one call, where its rules let it.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use sandbox::egress::{Destination, HostClient, Journal, NoAnswer, Reason, WayOut};
use sandbox::{Body, Client};
use serde_json::json;
use tokio::sync::OnceCell;
use tool_api::{Net, ToolError};

/// The hand of one call.
pub(super) struct Hosts {
    client: Client,
    way: Arc<WayOut>,
    journal: Arc<Journal>,
    /// Made when something is asked for: it may have to read the machine's certificates.
    guarded: OnceCell<HostClient>,
}

impl Hosts {
    /// Goes `way`, and notes where to in `journal`.
    pub(super) fn new(client: Client, way: WayOut, journal: Arc<Journal>) -> Hosts {
        Hosts { client, way: Arc::new(way), journal, guarded: OnceCell::new() }
    }
}

impl Net for Hosts {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Body>, ToolError>> {
        Box::pin(async move {
            let guarded = || HostClient::new(&self.client, self.way.clone(), self.journal.clone());
            self.guarded.get_or_init(guarded).await.send(request).await.map_err(told)
        })
    }
}

fn told(no_answer: NoAnswer) -> ToolError {
    match no_answer {
        NoAnswer::Blocked { to, reason } => blocked(&to, reason),
        NoAnswer::Unreadable => ToolError::new("host_blocked", no_answer.to_string()),
        NoAnswer::Net(error) => ToolError::new("no_answer", error.to_string()).with_source(error),
    }
}

/// What a call is told that may not reach a host.
pub(super) fn blocked(to: &Destination, reason: Reason) -> ToolError {
    let to_try = match reason {
        Reason::Denied => "go on without it, and do not ask for it again",
        _ => "go on without it, or ask a person to name it in `sandbox.hosts`",
    };
    let message = format!("{to} may not be reached: {reason}; {to_try}");
    let details = json!({ "host": to.to_string(), "why": reason.to_string() });
    ToolError::new("host_blocked", message).with_details(details)
}

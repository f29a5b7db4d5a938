//! `Followed`: a task that is followed to its end within the call that began it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use wire::string::literal;

use crate::connection::{Connection, Request, TaskClaim};

/// How long a server may take to hear that a task is not wanted any more.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// A task that is followed. Dropping it before its end asks the server to stop it.
pub(crate) struct Followed {
    pub(crate) connection: Arc<Connection>,
    /// The server's own id of it.
    pub(crate) id: Arc<str>,
    /// What the client is said to be able to do, if not what it says itself.
    declared: Option<Arc<str>>,
    /// Keeps what a task of 2025-11-25 asks until its result is waited for.
    _claim: Option<TaskClaim>,
    pub(crate) reports: u32,
    /// What was reported last.
    pub(crate) reported: String,
    pub(crate) is_over: bool,
}

/// The parameters of a request about a task. `more` are further members, each behind a comma.
pub(crate) fn params(id: &str, more: &str) -> Vec<u8> {
    format!("{{\"taskId\":{}{more}}}", literal(id)).into_bytes()
}

impl Followed {
    pub(crate) fn new(connection: &Arc<Connection>, id: Arc<str>, declared: Option<Arc<str>>) -> Followed {
        let claim = (!connection.is_modern()).then(|| connection.exchange().claim_task(id.clone()));
        Followed {
            connection: connection.clone(),
            id,
            declared,
            _claim: claim,
            reports: 0,
            reported: String::new(),
            is_over: false,
        }
    }

    pub(crate) fn request<'r>(&'r self, method: &'static str, more: &str) -> Request<'r> {
        let (name, capabilities) = (Some(&*self.id), self.declared.clone());
        Request { method, params: params(&self.id, more), name, capabilities, ..Request::default() }
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        let (false, Ok(runtime)) = (self.is_over, tokio::runtime::Handle::try_current()) else { return };
        let (connection, id, declared) = (self.connection.clone(), self.id.clone(), self.declared.take());
        // Bounded by its time; whether it was heard is of no more interest.
        runtime.spawn(async move {
            let (name, capabilities) = (Some(&*id), declared);
            let (method, params) = ("tasks/cancel", params(&id, ""));
            let request = Request { method, params, name, capabilities, ..Request::default() };
            drop(timeout(CANCEL_TIMEOUT, connection.request(None, None, request)).await);
        });
    }
}

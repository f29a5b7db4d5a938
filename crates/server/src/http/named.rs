//! The endpoints of workspaces with names: made when they are first asked for, and let go of when nobody uses them any more.
//! Each has sessions of its own, so that what belongs to one is never reached through another's address.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::StatusCode;
use tokio::time::Instant;

use super::PATH;
use super::answer::{self, Answer};
use super::endpoint::Endpoint;
use super::mistyped;
use crate::workspaces::{Workspaces, check_workspace_name};

/// How long a workspace is kept that nobody uses: no request comes, no call runs and no stream is read.
const IDLE_MAX: Duration = Duration::from_secs(10 * 60);

/// The name in the path of a request, if it is for a named workspace.
pub(super) fn name_in(path: &str) -> Option<&str> {
    let name = path.strip_prefix(PATH)?.strip_prefix('/')?;
    check_workspace_name(name).is_ok().then_some(name)
}

/// Those that there are.
pub(super) struct Named {
    workspaces: Arc<dyn Workspaces>,
    open: Mutex<HashMap<String, Open>>,
}

struct Open {
    endpoint: Arc<Endpoint>,
    used_at: Instant,
}

impl Open {
    /// Whoever answers a request, runs a call or writes a stream for it holds the endpoint, or reads a session's stream.
    fn is_used(&self) -> bool {
        Arc::strong_count(&self.endpoint) > 1 || self.endpoint.sessions.are_busy()
    }

    fn is_to_end(&self) -> bool {
        self.used_at.elapsed() >= IDLE_MAX || self.endpoint.server.stopping.is_cancelled()
    }
}

impl Named {
    pub(super) fn new(workspaces: Arc<dyn Workspaces>) -> Named {
        Named { workspaces, open: Mutex::default() }
    }

    /// The endpoint of this name; `first` is the default one, whose bounds it shares.
    ///
    /// # Errors
    /// The answer if there is none, or it cannot be made.
    pub(super) fn endpoint(&self, first: &Endpoint, name: &str) -> Result<Arc<Endpoint>, Box<Answer>> {
        let mut all = self.lock();
        let server = match self.workspaces.open(name) {
            Ok(Some(server)) => server,
            Ok(None) => {
                let why = mistyped::unknown_workspace(name, &self.workspaces.names());
                return Err(answer::refusal(StatusCode::NOT_FOUND, why));
            }
            Err(why) => {
                tracing::error!(name, why, "the workspace cannot be made");
                let why = "this workspace cannot be made; the log says why";
                return Err(answer::refusal(StatusCode::SERVICE_UNAVAILABLE, why));
            }
        };
        let used_at = Instant::now();
        if let Some(open) = all.get_mut(name).filter(|open| Arc::ptr_eq(&open.endpoint.server, &server)) {
            open.used_at = used_at;
            return Ok(open.endpoint.clone());
        }
        let endpoint = first.beside(server);
        let before = all.insert(name.to_owned(), Open { endpoint: endpoint.clone(), used_at });
        if let Some(before) = before {
            before.endpoint.end();
        }
        Ok(endpoint)
    }

    /// Ends those that nobody has used for a while, and those whose workspace has ended; looks after the sessions of the
    /// others.
    pub(super) async fn sweep(&self) {
        let left: Vec<Arc<Endpoint>> = {
            let mut all = self.lock();
            all.values_mut().filter(|open| open.is_used()).for_each(|open| open.used_at = Instant::now());
            for (name, open) in all.extract_if(|_, open| open.is_to_end()) {
                // Under the lock, so that whoever asks now makes another.
                if !open.endpoint.server.stopping.is_cancelled() {
                    self.workspaces.close(&name);
                }
                open.endpoint.end();
            }
            all.values().map(|open| open.endpoint.clone()).collect()
        };
        for endpoint in left {
            endpoint.sweep().await;
        }
    }

    /// Ends all of them.
    pub(super) fn end(&self) {
        self.lock().drain().for_each(|(_, open)| open.endpoint.end());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Open>> {
        // What it guards is sound between any two statements.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;

//! Clients that are being asked for an approval by a form: which requests are such a form, and when its answer is no longer
//! wanted.

use std::sync::Arc;

use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::{Approvals, LOOK_EVERY, form};

impl Approvals {
    /// Resolves when a question that a client is asked (its `inputRequests`) is answered elsewhere, or ends. Never for
    /// what tools ask.
    pub async fn settled_elsewhere(self: &Arc<Approvals>, requests: &[u8]) {
        let Some(id) = form::asked_for(requests) else { return std::future::pending().await };
        let mut changes = self.changes.subscribe();
        loop {
            let (approvals, wanted) = (self.clone(), id.clone());
            let is_open = spawn_blocking(move || approvals.is_open(&wanted)).await;
            if !matches!(is_open, Ok(true)) {
                return;
            }
            tokio::select! {
                _ = changes.changed() => {}
                () = sleep(LOOK_EVERY) => {
                    let approvals = self.clone();
                    // At the end of the program nobody looks any more.
                    let _ = spawn_blocking(move || approvals.look()).await;
                }
            }
        }
    }
}

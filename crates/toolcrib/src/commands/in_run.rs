//! What a call wants while it runs, asked of the person at the terminal.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use gate::Approvals;
use gate::approvals::{Forms, asked_for};
use terminal::print;
use tokio::task::spawn_blocking;

use super::approvals::{Here, ask_here};

/// Asks there as it is asked before a call.
pub(super) struct AtTerminal {
    pub(super) kept: Arc<Approvals>,
    /// The state folder.
    pub(super) state: PathBuf,
}

impl Forms for AtTerminal {
    /// The answer is kept where the call looks for it, so nothing comes back.
    fn ask(&self, requests: Bytes) -> BoxFuture<'_, Option<Bytes>> {
        let (kept, state) = (self.kept.clone(), self.state.clone());
        Box::pin(async move {
            let id = asked_for(&requests)?;
            // The call goes on meanwhile.
            let asked = spawn_blocking(move || ask_here(&Here { kept: &kept, state: &state }, &id));
            if let Ok(Err(trouble)) = asked.await {
                print::remark(&trouble.to_string());
            }
            None
        })
    }

    fn is_answered_itself(&self) -> bool {
        true
    }
}

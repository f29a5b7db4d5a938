//! `Waiting`: one open request.

use std::sync::Arc;
use std::task::{Context as Task, Poll};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::sleep;

use super::caller::Caller;
use super::exchange::Exchange;
use super::pending::Next;
use crate::fault::Fault;
use crate::slots::CallSlot;

/// A call that was given up keeps its slot until the server answers it, but no longer than this: one that stops when it
/// is told to answers nothing, and others wait.
const SLOT_KEPT_MAX: Duration = Duration::from_secs(5);

/// One open request. Dropping it forgets the request.
pub(crate) struct Waiting {
    pub(super) exchange: Arc<Exchange>,
    pub(super) id: u64,
    /// Kept for as long as the server is busy with it, but not while its client is asked.
    pub(super) slot: CallSlot,
}

impl Exchange {
    /// Opens a request; nothing as `caller` means that it is ours.
    pub(crate) fn begin(self: &Arc<Self>, caller: Option<Caller>) -> Result<Waiting, Fault> {
        let id = self.pending.open(caller)?;
        Ok(Waiting { exchange: self.clone(), id, slot: CallSlot::default() })
    }
}

impl Waiting {
    /// What comes next, if it is there already.
    pub(crate) fn poll(&mut self, task: &mut Task<'_>) -> Poll<Next> {
        self.exchange.pending.poll(self.id, task)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let (id, slot) = (self.id, std::mem::take(&mut self.slot));
        let is_kept = slot.is_limited() && self.exchange.pending.is_open(id);
        self.exchange.pending.forget(id, slot);
        // Without a runtime nothing goes on.
        if let (true, Ok(runtime)) = (is_kept, Handle::try_current()) {
            let exchange = Arc::downgrade(&self.exchange);
            // Bounded by its time.
            runtime.spawn(async move {
                sleep(SLOT_KEPT_MAX).await;
                exchange.upgrade().inspect(|exchange| exchange.pending.free(id));
            });
        }
    }
}

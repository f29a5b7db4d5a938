//! `Waiting`: one open request.

use std::sync::Arc;
use std::task::{Context as Task, Poll};

use super::caller::Caller;
use super::exchange::Exchange;
use super::pending::Next;
use crate::fault::Fault;

/// One open request. Dropping it forgets the request.
#[derive(Debug)]
pub(crate) struct Waiting {
    exchange: Arc<Exchange>,
    id: u64,
}

impl Exchange {
    /// Opens a request; nothing as `caller` means that it is ours.
    pub(crate) fn begin(self: &Arc<Self>, caller: Option<Caller>) -> Result<Waiting, Fault> {
        Ok(Waiting { exchange: self.clone(), id: self.pending().open(caller)? })
    }
}

impl Waiting {
    /// The request's number.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The messages it belongs to.
    pub(crate) fn exchange(&self) -> &Arc<Exchange> {
        &self.exchange
    }

    /// What comes next, if it is there already.
    pub(crate) fn poll(&mut self, task: &mut Task<'_>) -> Poll<Next> {
        self.exchange.pending().poll(self.id, task)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.exchange.pending().forget(self.id);
    }
}

//! `Door`: what all requests share.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Semaphore;

use super::endpoint::Endpoint;
use super::named::Named;
use crate::Administration;

/// Where requests come in.
pub(super) struct Door {
    /// The default workspace, and what is there once for all.
    pub(super) endpoint: Arc<Endpoint>,
    /// The others.
    pub(super) named: Named,
    pub(super) administration: Arc<dyn Administration>,
    pub(super) operations: Arc<Semaphore>,
    /// The start.
    pub(super) since: Instant,
}

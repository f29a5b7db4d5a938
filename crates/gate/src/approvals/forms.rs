//! `Forms`: how a transport has its client ask the user while a call runs.

use bytes::Bytes;
use futures_util::future::BoxFuture;

/// Has a client ask its user while a call runs.
pub trait Forms: Send + Sync {
    /// What the client answers to this `inputRequests` object: its `inputResponses`, or nothing if it cannot be asked.
    /// Dropped when nobody wants the answer any more; the client should then be told.
    fn ask(&self, requests: Bytes) -> BoxFuture<'_, Option<Bytes>>;

    /// Whether the client can still be asked: what its call runs for may have ended before the call does.
    fn is_open(&self) -> bool {
        true
    }

    /// Whether it makes sure itself that a person answers, and keeps the answer where the call looks for it. Then nothing that
    /// it gives back counts.
    fn is_answered_itself(&self) -> bool {
        false
    }
}

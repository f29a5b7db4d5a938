//! The hand of tools that ask a person whom the client cannot ask: one who watches at a terminal of their own.

use bytes::Bytes;
use futures_util::future::BoxFuture;

use crate::failure::ToolError;

/// The person at a terminal, who is none of the client's making.
pub trait Person: Send + Sync {
    /// Has the person answer forms: an `inputRequests` object. Gives the `inputResponses`, or nothing if nobody watches.
    fn ask(&self, requests: Bytes) -> BoxFuture<'_, Result<Option<Bytes>, ToolError>>;
}

//! The hand of tools that ask servers over HTTP. Which hosts may be asked is not for a tool to say in a call.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use sandbox::Body;

use crate::failure::ToolError;

/// Asks servers for one call. A tool gets it if its `ABOUT` says that it needs it, and its caller may reach the network.
pub trait Net: Send + Sync {
    /// Sends a request to a full http or https address, if the rules of the call allow its host. The answer is there when its
    /// head is; its body follows as it arrives. A redirect is an answer like any other.
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Body>, ToolError>>;
}

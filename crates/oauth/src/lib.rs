//! Signs in to other servers on the user's behalf: an OAuth 2.1 client. Knows no MCP beyond the rules that MCP
//! adds to OAuth (MCP 2026-07-28, "Authorization").
//!
//! A [`Session`] is what we are to one protected server: it finds out who issues tokens for it, gets one, keeps
//! it through a [`TokenStore`], renews it once for all processes that share it, and turns refusals of the server into
//! either a better token or a sentence about what a person must do. A token goes to the server it was issued for
//! and to nobody else; neither tokens nor secrets are ever part of an error, a log line or a `Debug`.

mod assertion;
mod challenge;
mod clean_text;
mod document;
mod error;
mod fetch;
#[cfg(any(test, feature = "fixtures"))]
mod fixtures;
mod location;
mod metadata;
mod record;
mod registration;
mod scope;
mod secret;
mod session;
mod settings;
mod sign_in;
#[cfg(test)]
mod tests;
mod token_store;
mod tokens;
mod unfinished;

pub use document::Document;
pub use error::{AuthError, Failure, Reason};
#[cfg(any(test, feature = "fixtures"))]
pub use fixtures::InMemory;
pub use location::is_endpoint;
pub use secret::Secret;
pub use session::{AccessToken, Session, Status};
pub use settings::{
    Algorithm, Authentication, Grant, IdentityProvider, Redirect, RegisteredClient, Settings,
};
pub use sign_in::SignIn;
pub use token_store::{StoredRecord, TokenStore, TokenStoreError};
pub use unfinished::{Piece, Unfinished};

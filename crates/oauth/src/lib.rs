//! Signs in to other servers on the user's behalf: an OAuth 2.1 client. Knows no MCP beyond the rules that MCP
//! adds to OAuth (MCP 2026-07-28, "Authorization").
//!
//! An [`Account`] is what we are to one protected server: it finds out who issues tokens for it, gets one, keeps
//! it through a [`Keeper`], renews it once for all processes that share it, and turns refusals of the server into
//! either a better token or a sentence about what a person must do. A token goes to the server it was issued for
//! and to nobody else; neither tokens nor secrets are ever part of an error, a log line or a `Debug`.

mod account;
mod assertion;
mod challenge;
mod error;
mod fetch;
mod keeper;
mod metadata;
mod place;
mod record;
mod registration;
mod scope;
mod secret;
mod settings;
mod sign_in;
#[cfg(test)]
mod test_server;
mod tokens;
mod unfinished;
mod words;

pub use account::{Account, Bearer, Document, Status};
pub use error::{AuthError, Failure, Reason};
pub use keeper::{InMemory, KeepError, Keeper, Kept};
pub use secret::Secret;
pub use settings::{
    Algorithm, Authentication, Grant, IdentityProvider, Redirect, RegisteredClient, Settings,
};
pub use sign_in::SignIn;
pub use unfinished::{Piece, Unfinished};

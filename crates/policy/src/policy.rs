//! Decides from facts: may this caller run this tool?
//!
//! Plain functions over plain values. This crate knows no tool and no wire: whoever asks describes the
//! call in [`Facts`] and acts on the [`Decision`]. It keeps no state, does no I/O and never waits, so a
//! decision may be taken on the thread that reads the request.

mod caller;
mod config;
mod decide;
mod facts;
mod scope;

pub use caller::{Caller, CallerKind, Via};
pub use config::{BadGlob, Config, ConfigError};
pub use decide::{Decision, Policy};
pub use facts::{Effect, Facts};
pub use scope::{Scope, ScopeError, Scopes};

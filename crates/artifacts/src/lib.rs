//! Results too large to be said, by content: files named by their SHA-256 in a folder of the state, and an index of who may
//! read which of them, until when.
//!
//! All of it waits for the disk, so it belongs on a thread that may. Secrets are struck out before anything comes here.

mod artifacts;
mod config;
mod draft;
mod entry;
mod error;
mod folder;

pub use artifacts::{About, Artifacts, COUNT_MAX, COUNT_OF_CALLER_MAX, Reader};
pub use config::{Config, Limits};
pub use draft::Draft;
pub use entry::{Entry, Owner};
pub use error::ArtifactError;

//! Results too large to be said, by content: files named by their SHA-256 in a folder of the state or objects in a bucket, and an
//! index of who may read which of them, until when.
//!
//! All of it waits for the disk or the bucket, so it belongs on a thread that may. Secrets are struck out before anything comes here.

mod artifacts;
mod bucket;
mod config;
mod draft;
mod entry;
mod error;
mod folder;
mod marks;
mod objects;
mod reader;
mod remote;
mod request;
mod upload;
mod written;

pub use artifacts::{About, Artifacts, COUNT_MAX, COUNT_OF_CALLER_MAX};
pub use bucket::Bucket;
pub use config::{Config, Limits};
pub use draft::Draft;
pub use entry::{Entry, Owner};
pub use error::ArtifactError;
pub use reader::Reader;

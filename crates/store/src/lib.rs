//! What must survive the end of the process, behind one trait.
//!
//! That is the tool definitions of upstreams, so that a list can be answered before any upstream has
//! started; anchors, small facts that other parts check themselves against; and secrets, which are sealed
//! before the store sees them. What the texts mean is their owners' affair. Every call blocks on the disk:
//! callers keep them off the path that answers requests.

#[cfg(test)]
mod conformance;
mod error;
mod folder;
mod marks;
mod master_key;
mod named;
mod schema;
mod secrets;
mod sqlite;
mod store;

pub use error::StoreError;
pub use folder::create_private;
pub use marks::Lost;
pub use master_key::{KeyHolder, KeySource, key_spellings};
pub use named::{BadName, BadValue, Named, SecretName, SecretValue, WasSet};
pub use secrets::{Opened, Secrets};
pub use sqlite::SqliteStore;
pub use store::{
    ANCHOR_BYTES_MAX, CLAIM_MS_MAX, DEFINITIONS_BYTES_MAX, Definitions, FINGERPRINTS_PER_UPSTREAM_MAX,
    RECORD_BYTES_MAX, RECORDS_PER_KIND_MAX, SECRET_BYTES_MAX, SECRET_NAME_BYTES_MAX, Store, StoredRecord,
    StoredSecret,
};

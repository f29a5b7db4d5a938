//! What must survive the end of the process, behind async traits: versioned cells (approvals, grants, keys, pins, sealed
//! records and more), leases, definitions of upstreams, counters, jobs.
//!
//! What the values mean is their owners' affair; secrets are sealed before the store sees them. SQLite stands behind the
//! traits, on a thread of its own that starts with the first use.

mod cell;
mod definitions;
mod error;
mod folder;
mod job_store;
mod lost;
mod master_key;
mod named;
mod reply;
mod secrets;
mod sentinel;
mod sqlite;
mod store;

pub use cell::{
    ANCHOR_BYTES_MAX, CELLS_PER_KIND_MAX, Cell, Change, Content, KEY_BYTES_MAX, Kind, PAGE_MAX,
    PIN_BYTES_MAX, Query, REQUESTS_OF_OWNER_MAX, VALUE_BYTES_MAX,
};
pub use definitions::{DEFINITIONS_BYTES_MAX, Definitions, FINGERPRINTS_PER_UPSTREAM_MAX};
pub use error::{Met, StoreError, Whose};
pub use folder::{create_private, create_whole, found};
pub use job_store::{
    Body, EVENT_BYTES_MAX, EVENT_PAGE_MAX, EXPIRE_MAX, Enqueued, EventRow, Hold, Holder, JOB_ABOUT_BYTES_MAX,
    JOB_BODY_BYTES_MAX, JOB_PAGE_MAX, JobChange, JobQuery, JobRow, JobStore, Kept, NewJob, Room,
};
pub use lost::Lost;
pub use master_key::{KeyHolder, KeySource, key_spellings};
pub use named::{BadName, BadValue, Named, SecretName, SecretValue, WasSet};
pub use reply::{Reply, wait};
pub use secrets::Secrets;
pub use sqlite::{SqliteJobs, SqliteStore};
pub use store::{
    COUNTERS_MAX, CellStore, CounterStore, DefinitionStore, LEASE_MS_MAX, LeaseStore, Period, Store, Taken,
    every, remove, replace,
};

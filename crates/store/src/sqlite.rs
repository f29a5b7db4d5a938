//! The store of one machine: one SQLite file in the state folder, shared by every process of its owner.

mod busy;
mod cells;
mod counters;
mod database;
mod definitions;
mod file;
mod identity;
mod jobs;
mod last_write;
mod leases;
mod schema;
mod sqlite_store;
mod unwritten;
mod worker;

pub use jobs::SqliteJobs;
pub use sqlite_store::SqliteStore;

#[cfg(test)]
mod tests;

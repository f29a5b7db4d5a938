//! Jobs in SQLite: a connection and a thread of their own, so that a burst of them holds up nothing else, and a lock that
//! tells others whether the process is alive.

mod batch;
mod holder;
mod rows;
mod sqlite_jobs;

pub use sqlite_jobs::SqliteJobs;

#[cfg(test)]
mod tests;

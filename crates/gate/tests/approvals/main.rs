//! Approval of one exact call: every state it can be in, every answer, and everything that must be refused.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod scene;

mod answers;
mod client;
mod grants;
mod limits;
mod race;
mod waiting;

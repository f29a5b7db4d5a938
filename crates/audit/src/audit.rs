//! The book that cannot be skipped: one line for every call, chained so that no line can be changed,
//! moved or taken out without a trace.
//!
//! The book is `audit.jsonl` in the state folder, shared by every process of its owner. Each line is one
//! JSON object whose first members are `seq` (1, 2, 3…) and `prev` (the `hash` of the record before, 64
//! zeros for the first) and whose last member is `hash`. Canonical form: `hash` is the SHA-256, in
//! lower-case hexadecimal, of the literal bytes of the line from its `{` up to, and without, the closing
//! `,"hash":"`. Those bytes contain `prev`, so each hash covers the whole book before it.
//!
//! A line that a crash cut short stays, ended by a line break; the chain goes on from the last whole line
//! and [`verify`] counts the torn one. That the *end* of the book is missing can only be seen from outside:
//! [`Book::anchor`] keeps the head of the chain in the store for that.
//!
//! Argument and result values never enter the book, only their sizes and a hash of the arguments.

mod anchor;
mod book;
mod error;
#[cfg(test)]
mod faults;
mod file;
mod hash;
mod journal;
mod line;
mod pen;
mod queue;
mod record;
mod recover;
mod tail;
mod verify;
mod writer;

pub use anchor::anchored;
pub use book::{Book, Clock, FILE, RECORDS_WAITING_MAX};
pub use error::{AnchorError, BookError};
pub use hash::Hash;
pub use journal::JournalMark;
pub use line::Head;
pub use record::{Opening, Outcome, Record, TEXT_BYTES_MAX};
pub use tail::tail;
pub use verify::{Verified, VerifyError, Why, verify};

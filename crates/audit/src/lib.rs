//! The audit log that cannot be skipped: one line for every call, chained so that no line can be changed,
//! moved or taken out without a trace.
//!
//! **Form.** The audit log lies in the state folder, shared by every process of its owner: closed segments
//! `audit-000001.jsonl`, `audit-000002.jsonl`… and the open one, `audit.jsonl`, to which lines are added under
//! a lock. Each line is one JSON object whose first members are `seq` (1, 2, 3…, through all segments),
//! `prev` (the `hash` of the record before, 64 zeros for the first) and `written_at_ms`, and whose last member
//! is `hash`. Canonical form: `hash` is the SHA-256, in lower-case hexadecimal, of the literal bytes of the line
//! from its `{` up to, and without, the closing `,"hash":"`. Those bytes contain `prev`, so each hash covers the
//! whole audit log before it, and the first line of a segment continues the one before.
//!
//! **Checkpoints** are lines with a member `checkpoint` instead of a call: after every
//! [`CHECKPOINT_RECORDS`] records, at the end of a segment and of a process. They are signed (Ed25519, key in
//! [`KEY_FILE`]): `signature` covers the words `toolcrib audit checkpoint`, a line break, and the line up to,
//! and without, `,"signature":"`. Whoever has the public key can verify a copy of the audit log anywhere.
//!
//! A signature is all that holds a copy to what was written, since whoever writes an audit log anew chains it as well.
//! [`verify`] says up to where there is one, and asks for more of it where somebody names the key.
//!
//! **Retention** removes whole segments, oldest first, by age and size. Each is named, with its last record,
//! in a signed line before it goes, so the rest can be verified from there. One look at a clock makes nothing old: by
//! itself the program removes by age what the audit log shows to have been too old for a day.
//!
//! **The end.** A line that a crash cut short stays, ended by a line break; the chain goes on from the last
//! whole line and [`verify`] counts the torn one. That the *end* of the audit log is missing can only be seen from
//! outside: the head that is safe on the disk is noted, signed, in `audit.head` at least every second while
//! calls come. Before a process writes its first line it looks for that head in the audit log. If it is not there, a signed
//! line says what was lost, and only then a newer head is noted; [`verify`] finds fault with the audit log until
//! [`AuditLog::acknowledge`] has signed that somebody knows. Whoever removes `audit.head` with the lines removes the trace.
//!
//! **What survives.** A call that may change something runs only after a note of it would survive a power
//! cut (`[audit] sync` may say so for fewer); the note goes when the call's record would. Records of other calls are written
//! within some 20 ms and synced within a second or so. Whoever answers calls waits for no disk:
//! [`before_run`](AuditLog::before_run) is a future, its work is done by a thread of its own, one sync for all who wait.
//!
//! **A full disk.** Calls that may change something are refused by name. Others go on, their records wait in
//! memory until [`RECORDS_WAITING_MAX`] or [`ARGUMENTS_BYTES_WAITING_MAX`] is reached, then they are refused
//! too. The writer tries again four times a second. The log says when that begins and ends.
//!
//! **Events** are lines with a member `event` instead of a call, for what happens without one.
//!
//! Arguments enter the audit log without secrets, or as a size and a hash; results never, but for their size.

mod acknowledge;
mod arguments;
mod audit_log;
mod chain;
mod checkpoint;
mod clock;
mod config;
mod degraded;
mod end_check;
mod error;
mod event;
mod export;
mod file_ops;
#[cfg(feature = "failing")]
mod fixtures;
mod hash;
mod head;
mod head_file;
mod in_place;
mod intent_log;
mod intent_slot;
mod intents;
mod key;
mod limits;
mod line;
mod loss;
mod members;
mod open_segment;
mod queue;
mod read;
mod record;
mod recover;
mod retention;
mod segments;
mod settings;
mod shared;
#[cfg(test)]
mod tests;
mod verify;
mod writer;

pub use arguments::{ARGUMENTS_BYTES_MAX, Plain};
pub use audit_log::AuditLog;
pub use checkpoint::{CHECKPOINT_RECORDS, Removed};
pub use clock::Clock;
pub use config::{Arguments, Config, Problem, SyncPolicy};
pub use error::AuditError;
pub use event::{Event, Layers, SelfTest, What};
pub use export::{LOGS_BYTES_MAX, LOGS_MAX, csv_head, csv_row, otlp_logs};
#[cfg(feature = "failing")]
pub use fixtures::Faults;
pub use hash::Hash;
pub use head::Head;
pub use head_file::{noted_head, noted_loss};
pub use intent_log::IntentId;
pub use key::{KEY_FILE, PublicKey};
pub use limits::{ARGUMENTS_BYTES_WAITING_MAX, RECORDS_WAITING_MAX};
pub use loss::Loss;
pub use read::{Reader, tail};
pub use record::{
    ARTIFACTS_MAX, Approved, DECISIONS_MAX, Decided, FOLDERS_MAX, HOSTS_MAX, Opening, Outcome, PROTECTED_MAX,
    Reached, Record, TEXT_BYTES_MAX, Wanted,
};
pub use segments::FILE;
pub use verify::{Trust, Verified, VerifyError, Why, verify};

//! Running a program that may touch what its profile says and nothing else. It runs with every layer that the profile
//! requires, or not at all.
//!
//! ```text
//! this process ── seqpacket ──▶ spawner ── clone3 ──▶ init (pid 1) ── fork ──▶ the program
//!       └──────────── lifeline: a pipe; at its end init ends everything ──┘
//! ```
//!
//! The *spawner* is our own program again, small and with one thread, because a copy of a large process is slow and one
//! with threads is not sound. It starts when a program is first confined. `docs/sandbox.md` says what the layers hold.

#![expect(
    clippy::disallowed_methods,
    reason = "makes what a confined program sees, and starts it; nothing here acts for a tool"
)]

mod aside;
mod beyond;
mod changed_files;
mod confiner;
mod fork;
mod homes;
mod init;
mod lacking;
mod layer;
mod limits;
mod live_sockets;
mod machine;
mod mount;
mod mounts;
mod order;
mod own_names;
mod packet;
mod plan;
mod probe;
mod profile;
mod report;
mod running;
mod server;
mod spawner;
mod streams;
mod tool_chains;
mod trial;
mod wide;
mod workspace;

pub use aside::{Aside, Changes};
pub use beyond::{NotBeyond, beyond};
pub use changed_files::{CHANGED_TOLD_MAX, changed_files, protected_changed};
pub use confiner::{ConfineError, Confined, Confiner};
pub use layer::{Layer, Unavailable};
pub use limits::{Limit, Limits};
pub use machine::{Circumstances, Cost, Machine, bwrap, pooled_cost, spawn_cost, start_with_network};
pub use probe::{Attempted, Held, Tested, main as probe_main, self_test, try_outside};
pub use profile::{Profile, Sockets, WorkspaceAccess};
pub use report::{MemoryKeeper, StartedBy};
pub use running::{Outcome, Output, Running, RunningIo};
pub use server::{ConfinedServer, LeftOut, ServerMay, names_something_in};
pub use spawner::{main as spawner_main, main_with as spawner_main_with};
pub use streams::Streams;
pub use trial::Trial;
pub use workspace::WorkspaceError;

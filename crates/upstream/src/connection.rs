//! `Connection`: one open way to a server, whatever the transport and the era. Any number of calls use it at
//! once.
//!
//! Opening it again is left to `actor`, and what the answers mean to `answer`.

mod asked;
mod call;
mod caller;
mod envelope;
mod era;
mod exchange;
mod http;
mod listen;
mod news;
mod notice;
mod open;
mod outbox;
mod pending;
mod process;
mod reaching;
mod request;
mod rounds;
mod socket;
mod sse;
mod stderr;
mod stdio;
mod subscribed;
mod suspended;
mod transport;

pub(crate) use asked::{Kind as Wanted, Question, without_task};
pub(crate) use caller::{Caller, caller};
#[cfg(test)]
pub(crate) use envelope::Envelope;
pub(crate) use era::Era;
pub(crate) use exchange::{Exchange, TaskClaim, Waiting};
pub(crate) use notice::Notice;
pub(crate) use open::{Connection, ask};
pub(crate) use pending::{Blocked, Parting, Reply, Turn};
pub use process::SandboxReport;
pub(crate) use request::{Answer, Request, resumed};
pub(crate) use stderr::Stderr;
pub(crate) use subscribed::Subscribed;
pub(crate) use transport::Transport;
pub(crate) use wire::initialize::Welcome as ServerIdentity;

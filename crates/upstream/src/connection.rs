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
mod face;
mod heard;
mod http;
mod listen;
mod news;
mod open;
mod outbox;
mod outgoing;
mod parked;
mod pending;
mod request;
mod rounds;
mod socket;
mod sse;
mod stderr;
mod stdio;
mod subscribed;
mod transport;
mod via;
mod waiting;

pub(crate) use asked::{Kind as Wanted, Question};
#[cfg(test)]
pub(crate) use caller::Caller;
#[cfg(test)]
pub(crate) use envelope::Envelope;
pub(crate) use era::Era;
pub(crate) use exchange::{Exchange, Parting};
pub(crate) use face::Face;
pub(crate) use heard::Heard;
pub(crate) use http::Verdict;
pub(crate) use open::{Connection, ask};
#[cfg(test)]
pub(crate) use outgoing::Outgoing;
pub(crate) use pending::Reply;
pub(crate) use request::{AGAIN, Answer, Request};
pub(crate) use stderr::Stderr;
pub(crate) use subscribed::Subscribed;
pub(crate) use transport::Transport;

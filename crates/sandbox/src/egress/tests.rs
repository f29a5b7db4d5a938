//! The way out as a program sees it: real sockets on loopback, names that lead there, and a part of loopback that counts as
//! the internet. Addresses of 127.1.0.0/16 are public, those of 127.2.0.0/16 private, all others what they are.
#![expect(
    clippy::disallowed_methods,
    reason = "small servers on loopback, and a program that connects to them"
)]

mod company;
mod direct;
mod figures;
mod judged;
mod limits;
mod names;
mod plain;
mod program;
mod servers;
mod tls;
mod tunnels;
mod upgrades;

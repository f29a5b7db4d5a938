//! Upstreams against servers that behave, and servers that do not: over stdio with real processes, over
//! HTTP with a scripted server on loopback.
#![expect(clippy::disallowed_methods, reason = "the tests stand in for the gate, and for servers")]

mod asked;
mod eras;
mod everything;
mod headers;
mod http;
mod issuer;
mod listening;
mod lives;
mod modern;
mod pooled;
mod probing;
mod resume;
mod shaped;
mod signing;
mod socket;
mod sse;
mod staying;
mod stdio;
mod web;
mod world;

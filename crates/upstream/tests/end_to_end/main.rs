//! Upstreams against servers that behave, and servers that do not: over stdio with real processes, over
//! HTTP with a scripted server on loopback.

mod http;
mod stdio;
mod web;
mod world;

//! The HTTP door as clients meet it, byte by byte, over loopback.

mod client;

mod approvals;
mod channels;
mod headers;
mod large;
mod late;
mod named;
mod rest;
mod resuming;
mod sessions;
mod strangers;
mod visitors;

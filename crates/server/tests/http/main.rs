//! The HTTP door as clients meet it, byte by byte, over loopback.

mod client;

mod channels;
mod headers;
mod resuming;
mod sessions;
mod visitors;

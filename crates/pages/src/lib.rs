//! Says what is in a page that nobody has looked at. It knows neither tools nor files: bytes come in, text goes out. A process
//! that is confined to that calls [`main`], and no other: what a page costs is bounded there.

mod fault;
mod html;
mod matching;
mod pdf;
mod read;
mod results;
mod worker;

pub use worker::main;

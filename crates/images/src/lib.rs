//! Shows what is in a picture that nobody has looked at: decodes it within limits, makes it smaller, and writes it anew. It
//! knows neither tools nor files: bytes come in, bytes go out. A process that is confined to that calls [`main`], and no
//! other.

mod fault;
mod jpeg;
mod shown;
mod worker;

pub use worker::main;

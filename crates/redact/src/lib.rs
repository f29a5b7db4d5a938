//! Knows every encoding of a secret and strikes it out.
//!
//! Two kinds of things are struck out: values that are known to be secret, in whatever encoding, as `[REDACTED:NAME]`,
//! or as `***` if they have no name, and what looks like a secret by a maintained set of patterns, as `[REDACTED:kind]`. Nothing here logs, stores or
//! shows what it knows.

mod address;
mod config;
mod hits;
mod json;
mod known;
mod patterns;
mod placeholder;
mod redactor;
mod search;
mod stream;
mod vocabulary;

pub use address::{MASK, without_credentials};
pub use config::{Config, Fault};
pub use known::Known;
pub use placeholder::placeholder_lines;
pub use redactor::{Redactor, Struck};
pub use stream::Stream;
pub use vocabulary::{Holds, Vocabulary};

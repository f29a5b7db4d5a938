//! Which elements of a page a person means, in a small part of CSS: names, `*`, `#id`, `.class`, attributes, one in the other. It
//! knows no page: who looks at one asks [`Selector`] what to look for. The libraries that know all of CSS are under MPL-2.0, which
//! `deny.toml` does not have, and bring a hundred times of this.

mod parser;
mod selector;

pub use parser::SelectorError;
pub use selector::{Compound, Condition, Selector, Step, Test, Within};

//! Integrity of definitions: what a server says of its tools, prompts, resources, templates and of itself is pinned by
//! hash, and whatever differs from what was accepted is held back until a person has looked at it.
//!
//! A [`Ledger`] says of each definition what was accepted and what the server shows now; it is bound to the server's
//! name and to what is run under that name, so that another program inherits nothing. `scan` looks for what hides in
//! a definition, [`difference`] says what has changed and how bad that could be. Where ledgers are kept is a
//! [`Keeper`]'s affair, who decides is a person's: `toolcrib mcp trust`.

mod canonical;
mod difference;
mod held;
mod item;
mod keeper;
mod ledger;
mod neighbours;
mod note;
mod pins;
mod risk;
mod scan;
mod shown;
mod watch;

pub use canonical::Hash;
pub use difference::{Change, difference};
pub use held::{HeldBack, Why, shell_word};
pub use item::What;
pub use keeper::{InMemory, KeepError, Keeper, Kept};
pub use ledger::{Decision, Definition, Ledger, Pinned};
pub use neighbours::Neighbours;
pub use pins::{Conceal, Pins};
pub use risk::{Risk, risks};
pub use scan::{Finding, Scanner, Severity};
pub use shown::visible;

pub(crate) use canonical::subject;
pub(crate) use note::{Definitions, Sighting};
pub(crate) use watch::{Judge, Watch};

#[cfg(test)]
mod tests;

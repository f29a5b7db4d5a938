//! Which definitions of a server a person has accepted, and what changed: what a server says of its tools, prompts,
//! resources, templates and of itself is pinned by hash, and whatever differs from what was accepted is held back until a
//! person has looked at it.
//!
//! [`Pins`] say of each definition what was accepted and what the server shows now; they are bound to the server's name
//! and to what is run under that name, so that another program inherits nothing. A [`Scanner`] looks for what hides in a
//! definition, [`difference`] says what has changed and [`risks`] how bad that could be. A [`PinStore`] keeps them; who
//! decides is a person: `toolcrib mcp trust`.

mod canonical;
mod difference;
mod held_back;
mod item;
mod neighbours;
mod note;
mod pin_store;
mod pinning;
mod pins;
mod risk;
mod scan;
mod server_pins;
mod shown;
mod trust;

pub use canonical::{Hash, subject};
pub use difference::{Change, difference};
pub use held_back::{HeldBack, Why, held_in_short, shell_word};
pub use item::What;
pub use neighbours::Neighbours;
pub use note::{Definitions, Sighting};
pub use pin_store::{PinStore, PinStoreError};
pub use pinning::{Conceal, Pinning};
pub use pins::{Decision, Definition, Pinned, Pins};
pub use risk::{Risk, risks};
pub use scan::{Finding, Scanner, Severity};
pub use server_pins::{Judge, ServerPins};
pub use shown::visible;
pub use trust::Trust;

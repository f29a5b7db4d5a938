//! The configuration: found, read, checked, resolved. In two steps: `file::File` is what was written, [`Settings`] is what
//! it means. All problems are told at once, each with its line and column.

mod check;
mod confinement;
mod consent;
mod declaration;
mod draft;
mod edit;
mod file;
pub mod find;
mod folder;
mod held;
mod instructions;
mod kept;
mod load;
pub mod log;
mod problem;
mod read;
mod reading;
mod reference;
mod secret;
mod set;
mod settings;
mod show;
mod surroundings;
mod syntax;
mod tighten;
mod tree;
mod trial;
mod uses;
mod workspaces;
mod written;

pub use confinement::Confinement;
pub use draft::{Draft, Saved, Whose};
pub use edit::remove_server;
pub use held::{Held, hold};
pub use kept::{Kept, Learner, known};
pub use load::{Loaded, kept, load, schema, state};
pub use problem::{Problems, Told, without_place};
pub use reading::{Reading, Sections};
pub use reference::Unfollowed;
pub use set::set_server;
pub use settings::{Settings, ShownTools};
pub use surroundings::{Flags, Surroundings};
pub use trial::{files_of_server, load_as_if, text_of};
pub use uses::Uses;
pub use written::{named, servers};

//! Files below a folder whose handle no path can leave.

mod at_once;
mod copied;
mod error;
mod file_ops;
mod folder;
mod for_programs;
mod inside;
mod movement;
mod notes;
mod obeyed;
mod path_names;
mod place;
mod preview;
mod protected;
mod read;
mod replaced;
mod root;
mod server_files;
mod trash;
mod tree;
mod undo;
mod write;

pub use error::FileError;
pub use folder::{ENTRIES_MAX, Entry, Folder, Kind};
pub(crate) use for_programs::ProgramPaths;
pub use inside::{Inside, NAME_BYTES_MAX, PATH_BYTES_MAX, WORKSPACE_PREFIX, spellings};
pub use movement::IsHeld;
pub use notes::{TRASH_LASTS, Trashed};
pub use obeyed::{ObeyedFile, Writable};
pub use protected::ProtectedPaths;
pub use read::{FilePart, Meta};
pub use root::{Access, Root};
pub use server_files::{ServerFiles, is_code};
pub use trash::{TRASH_BYTES_MAX, TRASH_ENTRIES_MAX};
pub use tree::TREE_ENTRIES_MAX;
pub use write::{Expect, Written};

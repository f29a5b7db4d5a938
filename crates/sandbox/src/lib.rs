//! What a running tool may touch: files below one folder, processes that end reliably, and the way
//! out to the network.
//!
//! This crate alone holds `unsafe`, starts processes and opens outbound connections; everyone else
//! asks here. Whether something *may* be done is decided elsewhere, before these functions are called.

mod browser;
mod change;
pub mod confine;
pub mod egress;
mod files;
mod folder_watch;
pub mod guard;
mod headless;
mod lineage;
mod memory;
mod net;
mod notification;
mod process;
pub mod text_file;
mod words;

pub use browser::{BrowserError, open_browser};
pub use change::{Change, Content, What};
pub use files::{
    Access, ENTRIES_MAX, Entry, Expect, FileError, FilePart, Folder, Inside, IsHeld, Kind, Meta,
    NAME_BYTES_MAX, ObeyedFile, PATH_BYTES_MAX, ProtectedPaths, Root, ServerFiles, TRASH_BYTES_MAX,
    TRASH_ENTRIES_MAX, TRASH_LASTS, TREE_ENTRIES_MAX, Trashed, WORKSPACE_PREFIX, Writable, Written, is_code,
    spellings,
};
pub use folder_watch::FolderWatch;
pub use headless::headless_browser;
pub use lineage::{Machine, Process, Processes, command_line, lineage, parent, peer};
pub use memory::{give_back_large_buffers, give_back_stack};
pub use net::{
    Body, CONNECT_TIMEOUT, Client, CompanyProxy, CompanyProxyError, NetError, connect_unix, is_public,
};
pub use notification::notify;
pub use process::{
    END_TIMEOUT, Exit, InheritedNames, Lasting, Launcher, Program, ProgramOutput, StartError, Tree, TreeIo,
    Variables, ask_program, may_be_asked, start_lasting,
};
pub use words::is_hidden;

//! `Settings`: a `[mcp.NAME]` table that has been checked and can be used as it is.

mod check;
mod checked;
mod confined;
mod confinement;
mod endpoint;
mod expand;
mod identity;
mod inherited;
mod limits;
pub(crate) mod mask;
mod named;
mod narrowed;
mod own_files;
mod place;
mod sandbox;
mod workspace;
mod workspace_words;

pub use checked::Settings;
pub use confinement::Confinement;
pub(crate) use endpoint::{Dialect, Endpoint};
pub use expand::references;
pub use limits::{CALL_TIMEOUT_MAX, CALL_TIMEOUT_MIN, LIST_TIMEOUT, START_TIMEOUT};
pub(crate) use mask::Mask;
pub use own_files::relative_words;
pub(crate) use place::quoted;
pub use sandbox::{ServerSandbox, host_rules};

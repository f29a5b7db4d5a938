//! The words of `toolcrib trust`.

use std::path::PathBuf;

use clap::Args;

/// Which folder, and what about it.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct TrustFolder {
    /// The folder; by default the current one. Its files are looked for as if Toolcrib were started there.
    pub(crate) dir: Option<PathBuf>,
    /// List every folder of which something was agreed to.
    #[arg(long, conflicts_with_all = ["dir", "revoke"])]
    pub(crate) list: bool,
    /// Take back what was agreed to of the folder.
    #[arg(long)]
    pub(crate) revoke: bool,
}

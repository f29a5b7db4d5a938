//! The words of `toolcrib service`.

use clap::Subcommand;

/// What to do with the service.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Service {
    /// Have systemd run `toolcrib serve` for you, now and whenever you are logged in; with `--config`, with that file.
    Install {
        /// Show the unit that would be written, and change nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Tell whether it is installed, enabled and running, and whether it runs this program.
    Status,
    /// Stop it and take it away.
    Remove,
}

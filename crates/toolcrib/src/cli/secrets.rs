//! The words of `toolcrib secrets`.

use std::path::PathBuf;

use super::known;
use clap::Subcommand;

/// What to do with secrets.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Secrets {
    /// Keep a secret, sealed; its value is asked for, or read from standard input.
    #[command(after_help = "Examples:\n  \
        toolcrib secrets set GITHUB_TOKEN\n  \
        pass github | toolcrib secrets set GITHUB_TOKEN")]
    Set {
        /// Its name, such as GITHUB_TOKEN; `{ store = "GITHUB_TOKEN" }` in the configuration stands for its value.
        #[arg(add = known::secrets())]
        name: String,
        /// A server that a folder declares, or the host that it is sent to: it may use the secret once you have agreed to
        /// it. Your own servers need none of this. Again and again adds more; with an empty value, the present one stays.
        #[arg(long = "for", value_name = "SERVER|HOST")]
        whom: Vec<String>,
        /// What is refused without being repeated.
        #[arg(hide = true, num_args = 0..)]
        value: Vec<String>,
    },
    /// List the secrets that are kept, where they are used, and what is wrong with them; never what they say.
    List,
    /// Seal everything that is kept, sign-ins too, with the key that `[secrets]` names now.
    Rekey {
        /// The file with the key that it was sealed with before; by default `secret.key` in the state folder. A relative
        /// path starts at the current folder.
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
    },
    /// Remove a secret.
    Remove {
        /// Its name.
        #[arg(add = known::secrets())]
        name: String,
    },
}

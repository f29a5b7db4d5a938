//! The words of `toolcrib manifest`.

use std::path::PathBuf;

use clap::Subcommand;

/// What to do with the manifests of tools of your own.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Manifest {
    /// Write a manifest and its program, to be changed into what you need.
    #[command(after_help = "Examples:\n  \
        toolcrib manifest new word_count")]
    New {
        /// The tool's id, which names the file, too.
        name: String,
    },
    /// Say everything that is wrong with manifests.
    #[command(after_help = "Examples:\n  \
        toolcrib manifest check\n  \
        toolcrib manifest check ./word_count.toml")]
    Check {
        /// The files; without any, all that are in force.
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Make each call of its examples, through the gate and in the sandbox, wherever the file lies.
    Run {
        /// The manifest.
        file: PathBuf,
    },
    /// Print the JSON Schema of a manifest.
    Schema,
}

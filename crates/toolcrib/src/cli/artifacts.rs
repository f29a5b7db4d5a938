//! The words of `toolcrib artifacts`.

use clap::Subcommand;

/// What to do with results that were too large for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Artifacts {
    /// List the artifacts of all callers, the oldest first.
    List {
        /// Those of this caller only, such as `local` or `key:ci`.
        #[arg(long, value_name = "CALLER")]
        caller: Option<String>,
    },
    /// Print an artifact to standard output, as it is.
    #[command(after_help = "Examples:\n  \
        toolcrib artifacts read 0123456789abcdef0123456789abcdef > build.log\n  \
        toolcrib artifacts read 0123456789abcdef0123456789abcdef --offset 65536 --bytes 1000")]
    Read {
        /// Its id.
        id: String,
        /// The first byte.
        #[arg(long, value_name = "BYTE", default_value_t = 0)]
        offset: u64,
        /// How many bytes at most.
        #[arg(long, value_name = "COUNT")]
        bytes: Option<u64>,
    },
    /// Remove artifacts before their time.
    Remove {
        /// Their ids.
        #[arg(required = true)]
        ids: Vec<String>,
    },
}

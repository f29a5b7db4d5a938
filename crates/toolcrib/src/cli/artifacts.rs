//! The words of `toolcrib artifacts`.

use admin::artifacts::PAGE_MAX;
use clap::Subcommand;
use clap::builder::RangedU64ValueParser;

/// What to do with results that were too large for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Artifacts {
    /// List the artifacts of all callers, the newest first.
    List {
        /// Those of this caller only, such as `local` or `key:ci`.
        #[arg(long, value_name = "CALLER")]
        caller: Option<String>,
        /// No more than so many, at most 200.
        #[arg(long, value_name = "N", default_value_t = 50)]
        #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..=PAGE_MAX as u64))]
        limit: usize,
        /// Only those behind the page before, which says where it ended.
        #[arg(long, value_name = "CURSOR")]
        cursor: Option<String>,
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

//! The words of `toolcrib jobs`.

use clap::Subcommand;
use units::Span;

/// Most jobs in a page.
const LIMIT_MAX: u64 = 200;

/// What to do with jobs.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Jobs {
    /// List jobs of all callers, the newest first.
    List {
        /// Only those in this state, such as running or failed. May be given several times.
        #[arg(long = "state", value_name = "STATE")]
        states: Vec<String>,
        /// Only those of this tool.
        #[arg(long, value_name = "TOOL")]
        tool: Option<String>,
        /// Only those of this caller, such as local or key:ci.
        #[arg(long, value_name = "CALLER")]
        caller: Option<String>,
        /// No more than so many, at most 200.
        #[arg(long, value_name = "N", default_value_t = 50)]
        #[arg(value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=LIMIT_MAX))]
        limit: usize,
        /// Only those behind the page before, which says where it ended.
        #[arg(long, value_name = "CURSOR")]
        cursor: Option<String>,
    },
    /// Show one job, and what came of it or what it asks.
    Show {
        /// Its id.
        id: String,
    },
    /// Print what happened to a job, and what its tool wrote.
    Logs {
        /// Its id.
        id: String,
        /// Go on until the job has ended.
        #[arg(long, short)]
        follow: bool,
        /// Only events behind this number, which --json says of each.
        #[arg(long, value_name = "NUMBER", default_value_t = 0)]
        after: u64,
    },
    /// Wait until a job has ended, and print its result.
    Wait {
        /// Its id.
        id: String,
        /// No longer than this, such as 30s.
        #[arg(long, value_name = "TIME")]
        timeout: Option<Span>,
    },
    /// End a job, with the programs that its tool runs.
    Cancel {
        /// Its id.
        id: String,
    },
    /// Keep a job that waits from beginning.
    Pause {
        /// Its id.
        id: String,
    },
    /// Let a job that was paused begin.
    Resume {
        /// Its id.
        id: String,
    },
    /// Answer what a job asks, at the terminal or by JSON, so that it goes on.
    Answer {
        /// Its id.
        id: String,
        /// The answers as JSON, each by the key of what is asked, `-` for standard input: MCP's `inputResponses`.
        responses: Option<String>,
        /// Which of its questions is answered, the `last_event` that `jobs show --json` has with it: a later one is not then.
        #[arg(long, value_name = "NUMBER", requires = "responses")]
        number: Option<u64>,
    },
    /// Make the call of a job that has ended once more, as a new job.
    Again {
        /// Its id.
        id: String,
    },
    /// Forget a job that has ended, with its result, or all of them.
    Purge {
        /// Its id.
        #[arg(required_unless_present = "all")]
        id: Option<String>,
        /// All that have ended.
        #[arg(long, conflicts_with = "id")]
        all: bool,
    },
}

//! The words of `toolcrib audit`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// What to do with the audit log of calls.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Audit {
    /// Print the latest calls; `audit export` prints everything else that the audit log holds, too.
    #[command(after_help = "Examples:\n  \
        toolcrib audit tail -n 50\n  \
        toolcrib audit tail --follow --outcome refused\n  \
        toolcrib audit tail --tool 'git_*' --since 2h\n  \
        toolcrib audit tail --events --since 1d")]
    Tail {
        /// How many.
        #[arg(short = 'n', long, default_value_t = 20, value_name = "COUNT")]
        lines: usize,
        /// Go on with what is written from now on, until interrupted.
        #[arg(short, long)]
        follow: bool,
        /// Only those before the record of this number, the `seq` that --json says of each: the page before.
        #[arg(long, value_name = "RECORD", conflicts_with = "follow")]
        before: Option<u64>,
        #[command(flatten)]
        filter: Filter,
    },
    /// Check that no record was changed, moved or taken out.
    Verify {
        /// Another audit log: a folder with its segments, or one segment. By default the one in the state folder.
        #[arg(long, value_name = "PATH")]
        folder: Option<PathBuf>,
        /// A key that may have signed it, as `toolcrib audit key` prints it. May be repeated. No other one counts then,
        /// and an audit log that bears no signature is found fault with.
        #[arg(long = "key", value_name = "KEY")]
        keys: Vec<String>,
        /// The number of the record that it begins with, if you know that what came before is elsewhere: a single
        /// segment need not begin with the first.
        #[arg(long, value_name = "RECORD")]
        from: Option<u64>,
    },
    /// Sign into the audit log that you know of the records that it says were lost; until then `verify` finds fault with it.
    Acknowledge {
        /// What happened, such as "restored from the backup of Monday"; it is kept in the audit log.
        #[arg(long, value_name = "TEXT")]
        because: Option<String>,
    },
    /// Print the audit log, write it to a file, or send it to a collector of logs.
    #[command(after_help = "Examples:\n  \
        toolcrib audit export --format jsonl --since 7d --to calls.jsonl\n  \
        toolcrib audit export --format csv --to calls.csv")]
    Export(AuditExport),
    /// Remove segments that are older or larger than `[audit]` keeps.
    Prune,
    /// Print the public key that the audit log is signed with.
    Key,
}

/// Which records.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct Filter {
    /// Only calls of this caller.
    #[arg(long, value_name = "ID")]
    pub(crate) caller: Option<String>,
    /// Only calls of this tool; `*` stands for any part of a name.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Only calls that ended so: result, tool_error, asked, refused, internal, cancelled, abandoned or
    /// unknown_after_crash.
    #[arg(long, value_name = "OUTCOME")]
    pub(crate) outcome: Option<String>,
    /// Only calls since then: a time, a date, or how long ago, such as `2h`.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// What happened without a call, too: hosts that servers reached, tests of the sandbox.
    #[arg(long)]
    pub(crate) events: bool,
}

/// Where the audit log goes, and in which form.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct AuditExport {
    /// The form.
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    pub(crate) format: Format,
    /// Only calls since then: a time, a date, or how long ago, such as `7d`.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only calls before then.
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Only records after the one with this number, to go on where an export ended.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) after: u64,
    /// A file, which must not exist yet, or for `otlp` the address of a collector; `/v1/logs` is added unless a path
    /// is given. By default it is printed.
    #[arg(long, value_name = "FILE|URL")]
    pub(crate) to: Option<String>,
    /// A file with HTTP headers for the collector, one `Name: value` on each line.
    #[arg(long, value_name = "FILE")]
    pub(crate) headers: Option<PathBuf>,
}

/// A form of the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The audit log's own lines: one JSON object each, which `audit verify --folder` checks.
    Jsonl,
    /// A table with one row for each call.
    Csv,
    /// OpenTelemetry logs as JSON.
    Otlp,
}

impl From<Format> for admin::audit_log::Format {
    fn from(format: Format) -> admin::audit_log::Format {
        match format {
            Format::Jsonl => admin::audit_log::Format::Jsonl,
            Format::Csv => admin::audit_log::Format::Csv,
            Format::Otlp => admin::audit_log::Format::Otlp,
        }
    }
}

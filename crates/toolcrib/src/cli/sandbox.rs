//! The words of `toolcrib sandbox`.

use std::ffi::OsString;

use clap::{Args, Subcommand};
use units::Span;

/// What to do with the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Sandbox {
    /// Run a program confined in the workspace. It has no network but what `--net` names, no files of yours but the workspace,
    /// and ends with everything it has started. Exits with its code; 125 if it could not be watched, 126 and 127 if it cannot be run
    /// or is not there, 3 if a layer of the sandbox is missing.
    #[command(after_help = "Examples:\n  \
        toolcrib sandbox run -- grep -rn main src\n  \
        toolcrib sandbox run --profile write --timeout 10m -- make test\n  \
        toolcrib sandbox run --dry-run -- sed -i s/old/new/ notes.md\n  \
        toolcrib sandbox run --net example.com --net localhost:8080 -- curl -s https://example.com\n  \
        toolcrib sandbox run --profile browser --net example.com -- chromium --headless --no-sandbox --dump-dom https://example.com")]
    Run(Run),
}

/// Which program, and how.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct Run {
    /// What it may do: `shell` reads the workspace, `write` also writes there, `browser` sees nothing of it and opens sockets
    /// between its processes.
    #[arg(long, default_value = "shell", value_parser = ["shell", "write", "browser"])]
    pub(crate) profile: String,
    /// A host that it may reach, beside those of `sandbox.hosts`: a name, *.name, an address, localhost with a port, or
    /// `public` for every public host. Can be given several times; without it there is no network.
    #[arg(long, value_name = "HOST")]
    pub(crate) net: Vec<String>,
    /// How long it may take, such as 90s or 10m, in place of the configuration's.
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<Span>,
    /// Change nothing: what it writes in the workspace lies aside, and is printed as a diff when it has ended. What it prints
    /// itself goes to stderr. The profile is `write`.
    #[arg(long, conflicts_with = "profile")]
    pub(crate) dry_run: bool,
    /// The program and its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

//! The words of `toolcrib rules`.

use clap::Subcommand;

/// What to do with the AI rules.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Rules {
    /// Say everything that is wrong with the rules files in effect.
    Check,
    /// Print the rules in force, and where they stand.
    Show,
    /// Say what the rules would do with a call, and which of them. Nothing is called.
    Test {
        /// The tool's name.
        tool: String,
        /// The arguments as a JSON object; `-` reads them from standard input.
        #[arg(default_value = "{}", value_name = "JSON")]
        arguments: String,
        /// What the tool would give, to be held against the rules as well.
        #[arg(long, value_name = "TEXT")]
        result: Option<String>,
        /// The server that the tool is on; without it, it is looked for among what is remembered of servers.
        #[arg(long, value_name = "NAME")]
        upstream: Option<String>,
    },
}

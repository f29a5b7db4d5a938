//! The words of `toolcrib policy`.

use std::path::PathBuf;

use super::known;
use clap::{Args, Subcommand};
use policy::{CallerKind, RoleWord, Via};

/// What to do with the policy.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Policy {
    /// Say everything that is wrong with it, and what in it never decides.
    Check {
        /// Do not look which tools there are.
        #[arg(long)]
        offline: bool,
    },
    /// Print the rules in force, those of the default policy included, as they could be written down.
    Show,
    /// Say which rule decides about a call, why every other does not, and what would change it.
    #[command(after_help = "Examples:\n  \
        toolcrib policy explain workspace_write\n  \
        toolcrib policy explain git_push '{\"branch\":\"main\"}' --role agent")]
    Explain(Explain),
    /// Try the cases beside the rules.
    Test {
        /// Files with cases; without any, those of the configuration and every `*.policy-test.toml` beside it.
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Say which calls of the audit log would be decided differently now, or by another configuration.
    Replay(Replay),
}

/// Which call is to be explained.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct Explain {
    /// The tool's name.
    #[arg(add = known::tools())]
    pub(crate) tool: String,
    /// The arguments as a JSON object; `-` reads them from standard input. Without them the decision may depend on
    /// them.
    #[arg(value_name = "JSON")]
    pub(crate) arguments: Option<String>,
    /// Who calls; the local user unless said otherwise.
    #[arg(long, value_name = "ID")]
    pub(crate) caller: Option<String>,
    /// What sort of caller: local_user, key, token. A key if anything else of another caller is given.
    #[arg(long, value_parser = word::<CallerKind>)]
    pub(crate) kind: Option<CallerKind>,
    /// What the caller is: owner, maintainer, developer, auditor, agent. More than once for several.
    #[arg(long, value_parser = word::<RoleWord>)]
    pub(crate) role: Vec<RoleWord>,
    /// What the caller was granted, in place of what the roles grant. More than once for several.
    #[arg(long)]
    pub(crate) scope: Vec<String>,
    /// The door: stdio, socket, http, command_line.
    #[arg(long, value_parser = word::<Via>)]
    pub(crate) via: Option<Via>,
}

/// Which calls are decided again.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct Replay {
    /// A configuration file whose policy decides; without it the one in effect.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Only calls since then: a time, a date, or how long ago, such as `7d`. At most 100,000 of the latest.
    #[arg(long, value_name = "TIME", conflicts_with = "last")]
    pub(crate) since: Option<String>,
    /// Only this many of the latest calls.
    #[arg(long, value_name = "COUNT", default_value_t = 1_000)]
    pub(crate) last: usize,
    /// Do not look which tools there are now by what is remembered of servers; what the audit log says of them decides.
    #[arg(long)]
    pub(crate) offline: bool,
}

/// One of the words that rules use as well.
fn word<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(text.into()).map_err(|error| error.to_string())
}

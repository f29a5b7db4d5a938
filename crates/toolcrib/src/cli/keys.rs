//! The words of `toolcrib keys`.

use super::known;
use clap::Subcommand;
use units::Span;

/// What to do with API keys.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Keys {
    /// Create a key and print it. It is shown once: only a hash of it is kept.
    #[command(after_help = "Examples:\n  \
        toolcrib keys create anna --servers all --expires 90d\n  \
        toolcrib keys create ci --scope read_workspace --scope git:call")]
    Create {
        /// Who will hold it, such as `ci` or `anna-laptop`; records and rules know the caller as key:NAME.
        name: String,
        /// What its holder is here: owner, maintainer, developer, auditor or agent. May be given several times; without
        /// it, an agent.
        #[arg(long = "role", value_name = "ROLE")]
        roles: Vec<String>,
        /// What its holder may do, such as read_workspace or git:call, in place of what the role says. May be given
        /// several times.
        #[arg(long = "scope", value_name = "SCOPE")]
        scopes: Vec<String>,
        /// The servers whose tools its holder may call, beside what the role says: names with commas between them, or `all`
        /// for those that are configured now.
        #[arg(long, value_delimiter = ',', value_name = "all|NAME,…")]
        servers: Vec<String>,
        /// A person will hold it, and no agent: only by such a key approvals are answered over HTTP.
        #[arg(long)]
        person: bool,
        /// How long it is good, such as 12h, 90d or 2w; without it, until it is revoked.
        #[arg(long, value_name = "TIME")]
        expires: Option<Span>,
    },
    /// List the keys; of each only its beginning is known.
    List,
    /// Make a key worthless, within about a second and for every running toolcrib.
    Revoke {
        /// Its id, such as tc_AbCd12, or its name.
        #[arg(add = known::keys())]
        key: String,
    },
}

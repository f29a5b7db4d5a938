//! The words of `toolcrib approvals`.

use std::convert::Infallible;

use super::known;
use clap::Subcommand;

/// What to do with calls that wait for a person.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Approvals {
    /// List the calls that wait.
    List {
        /// Those that are settled, too.
        #[arg(long)]
        all: bool,
    },
    /// Show one: who asks what, why it is asked, and what was answered.
    Show {
        /// Its id.
        #[arg(value_parser = as_kept, add = known::asked_calls())]
        id: String,
        /// All of its arguments, however long, as long as nobody has answered.
        #[arg(long)]
        full: bool,
    },
    /// Allow a call, once.
    #[command(
        visible_alias = "allow",
        after_help = "Examples:\n  \
        toolcrib approvals approve k3v9qx2a\n  \
        toolcrib approvals approve k3v9qx2a --session\n  \
        toolcrib approvals approve k3v9qx2a --session --words\n  \
        toolcrib approvals approve k3v9qx2a --always --only /path"
    )]
    Approve {
        /// Its id.
        #[arg(value_parser = as_kept, add = known::waiting_calls())]
        id: String,
        /// And the same tool for the rest of the caller's session.
        #[arg(long, group = "lasting")]
        session: bool,
        /// And the same tool with exactly these arguments until that is revoked.
        #[arg(long, group = "lasting")]
        always: bool,
        /// With --session or --always: a shell's commands that begin with the same two words as this one, whatever follows.
        #[arg(long, requires = "lasting", conflicts_with_all = ["only", "any"])]
        words: bool,
        /// With --always: only these arguments must be the same, by JSON Pointer, such as /path. May be repeated.
        #[arg(long, value_name = "POINTER", requires = "always")]
        only: Vec<String>,
        /// With --always: with any arguments.
        #[arg(long, requires = "always", conflicts_with = "only")]
        any: bool,
        /// A remark that is kept with the answer.
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Refuse a call.
    Deny {
        /// Its id.
        #[arg(value_parser = as_kept, add = known::waiting_calls())]
        id: String,
        /// Why, for the agent to read.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// List what is allowed without asking again.
    Grants {
        /// The id of one of those, to show that alone.
        #[arg(value_parser = as_kept, add = known::grants())]
        id: Option<String>,
    },
    /// Take back one of those.
    Revoke {
        /// Its id.
        #[arg(value_parser = as_kept, add = known::grants())]
        id: String,
    },
    /// Take back what was denied, so that the same calls ask again.
    Reset {
        /// The id of a denial; without one, all that still hold.
        #[arg(value_parser = as_kept, add = known::asked_calls())]
        id: Option<String>,
    },
    /// Show each call that begins to wait, and what agents and jobs ask; at a terminal, ask what to answer.
    #[command(after_help = "Examples:\n  \
        toolcrib approvals watch\n  \
        toolcrib approvals watch --json")]
    Watch,
    /// Set or change a code that only you know: from then on nothing is allowed without it.
    Pin {
        /// Remove it.
        #[arg(long)]
        remove: bool,
    },
}

/// An id as it is kept: people copy them with blanks, and from places that write in capitals.
fn as_kept(id: &str) -> Result<String, Infallible> {
    Ok(id.trim().to_lowercase())
}

//! The words of `toolcrib mcp`.

use std::path::PathBuf;

use super::known;
use clap::{Args, Subcommand, ValueEnum};

/// What to do with other MCP servers.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Mcp {
    /// List the servers that are configured, where, and how they are doing.
    List,
    /// Add a server to the configuration, after testing it.
    #[command(after_help = "Examples:\n  \
        toolcrib mcp add everything npx -y @modelcontextprotocol/server-everything\n  \
        toolcrib mcp add -e TOKEN tickets uvx mcp-tickets --verbose\n  \
        toolcrib mcp add web --url https://mcp.example/mcp -H 'X-Team=blue'")]
    Add(Box<Add>),
    /// Take a server out of the configuration.
    #[command(visible_alias = "rm")]
    Remove {
        /// Its name.
        #[arg(add = known::servers())]
        name: String,
        /// Forget its sign-in and its remembered definitions, too.
        #[arg(long)]
        purge: bool,
    },
    /// Change what the configuration says of a server.
    #[command(after_help = "Examples:\n  \
        toolcrib mcp set github timeout=60s\n  \
        toolcrib mcp set github destructive=session\n  \
        toolcrib mcp set database 'sandbox.network=[\"localhost:5432\"]'")]
    Set {
        /// Its name.
        #[arg(add = known::servers())]
        name: String,
        /// What it says from now on, such as `timeout=60000`, `destructive=session` or `sandbox.network=none`.
        #[arg(required = true, value_name = "KEY=VALUE")]
        values: Vec<String>,
    },
    /// Show one server: where it is, how it is doing, and which file it stands in.
    Get {
        /// Its name.
        #[arg(add = known::servers())]
        name: String,
    },
    /// Switch a server on again.
    Enable {
        /// Its name.
        #[arg(add = known::servers())]
        name: String,
    },
    /// Keep a server in the configuration and leave it alone.
    Disable {
        /// Its name.
        #[arg(add = known::servers())]
        name: String,
    },
    /// Have every running Toolcrib end its connection to a server and make another.
    Restart {
        /// Its name.
        #[arg(add = known::servers())]
        name: String,
    },
    /// Print what a server's program last wrote on its stderr.
    Logs {
        /// Its name.
        #[arg(add = known::servers())]
        name: String,
    },
    /// Connect to servers, list what they have, and say what is wrong and what to do.
    #[command(after_help = "Examples:\n  \
        toolcrib mcp test\n  \
        toolcrib mcp test github")]
    Test {
        /// Which; all if none is named.
        #[arg(add = known::servers())]
        names: Vec<String>,
    },
    /// Say how the servers of the running Toolcrib are doing; without one, what is remembered of them.
    Status {
        /// Which; all if none is named.
        #[arg(add = known::servers())]
        names: Vec<String>,
        /// Go on and tell what changes.
        #[arg(long)]
        watch: bool,
    },
    /// Have every running Toolcrib read its configuration again and reconnect what changed.
    Reload,
    /// Show what is held back of servers' definitions, and decide about it.
    Trust(Trust),
    /// Sign in to a server with the browser.
    #[command(after_help = "Examples:\n  \
        toolcrib mcp auth linear\n  \
        toolcrib mcp auth linear --no-browser")]
    Auth(Auth),
    /// Forget the sign-in to a server.
    Logout {
        /// Its name.
        #[arg(add = known::servers())]
        name: String,
    },
    /// Print what is said between Toolcrib and a server, with secrets masked.
    Debug {
        /// Its name.
        #[arg(add = known::servers())]
        name: String,
    },
    /// Add the servers that other clients on this machine have configured.
    #[command(after_help = "Examples:\n  \
        toolcrib mcp import\n  \
        toolcrib mcp import claude-code --move\n  \
        toolcrib mcp import ./readme.json --dry-run")]
    Import(Import),
    /// Write Toolcrib into another client's configuration.
    #[command(after_help = "Examples:\n  \
        toolcrib mcp export claude-code\n  \
        toolcrib mcp export cursor --project --http")]
    Export(Export),
}

/// Whose file is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub(crate) struct Whose {
    /// Into your own file, for all folders.
    #[arg(long, conflicts_with = "project")]
    pub(crate) user: bool,
    /// Into the file of this folder's project.
    #[arg(long)]
    pub(crate) project: bool,
}

/// A server to be added.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct Add {
    /// Its name; its tools are offered as NAME_tool.
    pub(crate) name: Option<String>,
    /// The program to start.
    #[arg(long, conflicts_with = "url")]
    pub(crate) command: Option<String>,
    /// The program's arguments.
    #[arg(long, num_args = 1.., allow_hyphen_values = true, value_name = "ARG", requires = "command")]
    pub(crate) args: Vec<String>,
    /// The program and its arguments; options of ours stand before it.
    #[arg(trailing_var_arg = true, value_name = "CMD", conflicts_with_all = ["command", "url"])]
    pub(crate) program: Vec<String>,
    /// The address of a server that is reached over HTTP.
    #[arg(long)]
    pub(crate) url: Option<String>,
    /// A header for every request.
    #[arg(short = 'H', long = "header", value_name = "NAME=VALUE", requires = "url")]
    pub(crate) headers: Vec<String>,
    /// An environment variable for the program; a NAME alone refers to the variable of that name.
    #[arg(short, long = "env", value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Sign in with the browser at once.
    #[arg(long, requires = "url")]
    pub(crate) oauth: bool,
    /// What to do with calls of tools that it marks as destructive; without it you are asked, if half of them are.
    #[arg(long, value_name = "HOW")]
    pub(crate) destructive: Option<Destructive>,
    /// Add it even if the test fails, or without one.
    #[arg(long)]
    pub(crate) untested: bool,
    #[command(flatten)]
    pub(crate) whose: Whose,
}

/// How calls of tools that a server marks as destructive are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Destructive {
    /// Ask each time.
    Ask,
    /// Ask once a session, for each tool.
    Session,
    /// Do not ask.
    Allow,
}

/// What to show of definitions that are held back, or to decide. An ITEM is a name, or `tool:NAME`, `prompt:NAME`,
/// `resource:URI`, `template:URI`, `instructions`; `@` and the digits that `--show` prints behind it stand for what
/// was looked at, and for nothing that came later.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct Trust {
    /// The server; all if none is named.
    #[arg(add = known::servers())]
    pub(crate) name: Option<String>,
    /// Show what has changed about it, and what to think of that.
    #[arg(long, value_name = "ITEM", requires = "name")]
    pub(crate) show: Option<String>,
    /// Offer these from now on.
    #[arg(long, value_name = "ITEM", num_args = 1.., requires = "name", conflicts_with = "show")]
    pub(crate) accept: Vec<String>,
    /// Offer everything that is held back from now on.
    #[arg(long, requires = "name", conflicts_with_all = ["show", "accept"])]
    pub(crate) accept_all: bool,
    /// Do not offer these, and do not mention them again.
    #[arg(long, value_name = "ITEM", num_args = 1.., requires = "name", conflicts_with_all = ["show", "accept_all"])]
    pub(crate) reject: Vec<String>,
    /// Forget what was accepted and rejected: what the server has next counts as seen for the first time.
    #[arg(long, requires = "name", conflicts_with_all = ["show", "accept", "accept_all", "reject"])]
    pub(crate) reset: bool,
}

/// A sign-in.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct Auth {
    /// The server's name.
    #[arg(add = known::servers())]
    pub(crate) name: String,
    /// Open no browser; print the address only.
    #[arg(long)]
    pub(crate) no_browser: bool,
}

/// What to import.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct Import {
    /// The clients to look at (claude-code, claude-desktop, vscode, cursor, opencode, codex, scorpiox), or files of
    /// theirs; all these clients if none is named.
    #[arg(add = known::clients())]
    pub(crate) from: Vec<String>,
    /// Take them out of the clients' own files as well, keep keys that are written out there with `toolcrib secrets`, and
    /// have each client start Toolcrib in their place. What was there is kept beside each file. It goes into your own
    /// configuration, and a project's file that others share is left alone unless you name it.
    #[arg(long = "move")]
    pub(crate) moves: bool,
    /// Add without asking.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Only show what would be added.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
}

/// Another system to move over from.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct ImportSystem {
    /// The system.
    pub(crate) system: System,
    /// Write without asking.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Only show what would be written.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
}

/// A system that has more than a list of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum System {
    /// scorpiox code.
    Scorpiox,
}

/// Where to export to.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct Export {
    /// The client: claude-code, claude-desktop, vscode, cursor, opencode, codex or scorpiox.
    #[arg(add = known::clients())]
    pub(crate) client: String,
    /// Its configuration file, if it is not where that client looks first.
    #[arg(long, conflicts_with_all = ["user", "project"])]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) whose: Whose,
    /// As an address, which `toolcrib serve` serves, and not as a program that the client starts.
    #[arg(long)]
    pub(crate) http: bool,
    /// The name to go by in it.
    #[arg(long, default_value = "toolcrib")]
    pub(crate) name: String,
    /// Write without asking.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Only show what would be written.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
}

//! The command line as a type: its words, their help, and which of them go together. What a command does
//! is in its file below `commands/`.

mod approvals;
mod artifacts;
mod audit;
mod client;
mod jobs;
mod keys;
mod known;
mod manifest;
mod mcp;
mod policy;
mod rules;
mod sandbox;
mod secrets;
mod service;
mod trust;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{CommandFactory as _, Parser, Subcommand};
use config::Flags;
use gate::jobs::{PRIORITY_MAX, RETRIES_MAX};

pub(crate) use approvals::Approvals;
pub(crate) use artifacts::Artifacts;
pub(crate) use audit::{Audit, AuditExport, Filter, Format};
pub(crate) use jobs::Jobs;
pub(crate) use keys::Keys;
pub(crate) use manifest::{FromOpenapi, Manifest};
pub(crate) use mcp::{Add, Auth, Destructive, Export, Import, ImportSystem, Mcp, System, Trust, Whose};
pub(crate) use policy::{Explain as PolicyExplain, Policy, Replay as PolicyReplay};
pub(crate) use rules::Rules;
pub(crate) use sandbox::{Run, Sandbox};
pub(crate) use secrets::Secrets;
pub(crate) use service::Service;
pub(crate) use trust::TrustFolder;

/// What every command takes stands apart from its own options.
const GLOBAL: &str = "Global options";

/// The tool crib for AI agents: an MCP server with tools of its own and those of other MCP servers, behind
/// one gate that checks and records every call.
///
/// Without a command it serves over HTTP with the nearest configuration, or none.
#[derive(Debug, Default, Parser)]
#[command(name = "toolcrib", version)]
pub(crate) struct Cli {
    /// Use this configuration file and no other.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON instead of text.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// The folder that the file tools work in, whatever a configuration says.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// For this run, agree to everything that the folder's files declare. For containers and CI, where nobody can be
    /// asked; it starts whatever they name.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) trust_folder: bool,
    /// The same as the command `stdio`.
    #[arg(long, conflicts_with = "selftest")]
    mcp: bool,
    #[command(flatten)]
    serving: Serve,
    /// The same as the command `selftest`.
    #[arg(long)]
    selftest: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Command {
    /// Write a configuration with comments, to be filled in: your own, unless `--project` says otherwise.
    #[command(after_help = "Examples:\n  \
        toolcrib init\n  \
        toolcrib init --project")]
    Init(Whose),
    /// Serve MCP over HTTP.
    #[command(after_help = "Examples:\n  \
        toolcrib serve\n  \
        toolcrib serve --port 3001\n  \
        toolcrib serve --bind 127.0.0.1:0 --standalone")]
    Serve(Serve),
    /// Serve MCP over standard input and output, for one client that starts this program.
    Stdio(Serving),
    /// End the process that serves all clients of yours on this state folder.
    Stop,
    /// Run `serve` as a service of your systemd.
    #[command(subcommand)]
    Service(Service),
    /// Check that every listed tool can be called and is the one that was released.
    Selftest,
    /// Try the sandbox for programs: is every layer of it there, and does it hold? Makes some sixty attempts to escape. Says how
    /// jobs stand, too.
    Doctor {
        /// Ask each service of the web search something, too. Nothing else here reaches the network.
        #[arg(long)]
        net: bool,
    },
    /// Run programs confined.
    #[command(subcommand)]
    Sandbox(Sandbox),
    /// Show what a folder's files declare, and ask whether you agree to it.
    Trust(TrustFolder),
    /// List, describe and call tools.
    #[command(subcommand)]
    Tools(Tools),
    /// Write, check and try tools of your own.
    #[command(subcommand)]
    Manifest(Manifest),
    /// Configure, test and watch other MCP servers.
    #[command(subcommand)]
    Mcp(Mcp),
    /// Move over from another system: its servers, and what its settings are here. Servers alone, also those of clients, are
    /// taken over by `toolcrib mcp import`.
    #[command(after_help = "Examples:\n  \
        toolcrib import scorpiox --dry-run\n  \
        toolcrib import scorpiox")]
    Import(ImportSystem),
    /// List and read resources of other MCP servers.
    #[command(subcommand)]
    Resources(Resources),
    /// List and fill in prompts of other MCP servers.
    #[command(subcommand)]
    Prompts(Prompts),
    /// Check and show the configuration.
    #[command(subcommand)]
    Config(Config),
    /// Check, explain and test who may do what.
    #[command(subcommand)]
    Policy(Policy),
    /// Check and try the AI rules of a project.
    #[command(subcommand)]
    Rules(Rules),
    /// See and end calls that outlive their request.
    #[command(subcommand)]
    Jobs(Jobs),
    /// See and answer calls that wait for a person.
    #[command(subcommand)]
    Approvals(Approvals),
    /// Keep secrets for tools, sealed.
    #[command(subcommand)]
    Secrets(Secrets),
    /// Create and revoke the keys that callers over HTTP use.
    #[command(subcommand)]
    Keys(Keys),
    /// See, read and remove results that were too large for an answer.
    #[command(subcommand)]
    Artifacts(Artifacts),
    /// Read, verify and export the audit log of calls.
    #[command(subcommand)]
    Audit(Audit),
    /// Print the completions for a shell.
    #[command(after_help = "Examples:\n  \
        source <(toolcrib completions bash)\n  \
        toolcrib completions zsh > ~/.zfunc/_toolcrib\n  \
        toolcrib completions fish > ~/.config/fish/completions/toolcrib.fish")]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page of a command, for `man -l -`.
    Man {
        /// The command, such as `mcp add`; the program itself if none is named.
        words: Vec<String>,
    },
}

/// How to serve over HTTP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) how: Serving,
    /// The port, in place of the configuration's; 0 takes any free one.
    #[arg(long, conflicts_with = "bind")]
    port: Option<u16>,
    /// The address and port, in place of the configuration's.
    #[arg(long, value_name = "HOST:PORT", value_parser = server::address)]
    bind: Option<SocketAddr>,
}

/// How to serve.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::Args)]
pub(crate) struct Serving {
    /// Serve in this process, and not in the one that all clients of yours share.
    #[arg(long)]
    pub(crate) standalone: bool,
}

/// What to do with tools.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Tools {
    /// List the tools on offer, and what is wrong with those that are not.
    List,
    /// Describe one tool.
    Show {
        /// Its name.
        #[arg(add = known::tools())]
        name: String,
    },
    /// Check whether arguments fit a tool; nothing is called.
    Check {
        /// Its name.
        #[arg(add = known::tools())]
        name: String,
        /// The arguments, as for a call.
        #[arg(value_name = "NAME=VALUE|JSON")]
        arguments: Vec<String>,
    },
    /// Call a tool through the gate, as the local user.
    #[command(after_help = "Examples:\n  \
        toolcrib tools call workspace_read path=notes.md\n  \
        toolcrib tools call workspace_read '{\"path\":\"notes.md\"}'\n  \
        echo '{\"path\":\"notes.md\"}' | toolcrib tools call workspace_read -")]
    Call {
        /// Its name.
        #[arg(add = known::tools())]
        name: String,
        /// The arguments, of the types that the tool's schema says; or all of them as one JSON object; `-` reads that from
        /// standard input.
        #[arg(value_name = "NAME=VALUE|JSON")]
        arguments: Vec<String>,
        /// Change nothing, and print what would change. Not of a server's tools.
        #[arg(long, conflicts_with = "plan")]
        dry_run: bool,
        /// Make the call as this dry run has said, if the files that it changes are as they were: its `plan_hash`, which an
        /// hour is good for.
        #[arg(long, value_name = "HASH")]
        plan: Option<String>,
        /// Take it as a job, which runs on when this command has ended; `toolcrib jobs` shows it.
        #[arg(long, conflicts_with_all = ["dry_run", "plan"])]
        job: bool,
        /// How urgent the job is among your own, from -10 to 10: more comes first.
        #[arg(long, value_name = "N", requires = "job", allow_negative_numbers = true)]
        #[arg(value_parser = clap::value_parser!(i8).range(i64::from(-PRIORITY_MAX)..=i64::from(PRIORITY_MAX)))]
        priority: Option<i8>,
        /// How often the job is tried again should it fail, at most 5 times. Only of tools that may do the same twice.
        #[arg(long, value_name = "N", requires = "job")]
        #[arg(value_parser = clap::value_parser!(u32).range(..=i64::from(RETRIES_MAX)))]
        retries: Option<u32>,
        /// Print progress and messages as they come, on standard error; at a terminal, progress as a bar.
        #[arg(long, conflicts_with = "job")]
        stream: bool,
        /// An id for this call: with the same one it is made once in 24 hours, and gives the same result again.
        #[arg(long, value_name = "ID")]
        request_id: Option<String>,
        /// What is to be noted of the call in the audit log, as JSON; it decides nothing.
        #[arg(long, value_name = "JSON")]
        context: Option<String>,
    },
}

/// What to do with resources.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Resources {
    /// List the resources and resource templates on offer.
    List,
    /// Print what is in a resource.
    Read {
        /// Its URI, as it is listed.
        uri: String,
    },
}

/// What to do with prompts.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Prompts {
    /// List the prompts on offer.
    List,
    /// Fill in a prompt and print it.
    Get {
        /// Its name, as it is listed.
        name: String,
        /// Its arguments.
        #[arg(value_name = "NAME=VALUE")]
        arguments: Vec<String>,
    },
}

/// What to do with the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub(crate) enum Config {
    /// Say everything that is wrong with it.
    Check,
    /// Print the JSON Schema of the file.
    Schema,
    /// Print the description of the REST routes (OpenAPI 3.1), as `GET /mcp/openapi.json` answers it.
    Openapi,
    /// Print what is in effect and where it was set; secrets as `***`.
    Show,
}

impl Cli {
    /// What it says of the configuration, beside the file.
    pub(crate) fn flags(&self) -> Flags {
        let Serve { port, bind, .. } = match self.command {
            Some(Command::Serve(serve)) => serve,
            _ => self.serving,
        };
        Flags { workspace: self.workspace.clone(), trust_folder: self.trust_folder, bind, port }
    }

    /// The line that this process was started by.
    ///
    /// # Errors
    /// What is wrong with it, or the help that it asks for.
    pub(crate) fn of_process() -> Result<Cli, clap::Error> {
        Cli::of_client(std::env::args_os().skip(1)).map_or_else(Cli::try_parse, Ok)
    }

    /// The command in effect.
    ///
    /// # Errors
    /// If a flag that stands for a command comes with a command.
    pub(crate) fn action(&self) -> Result<Command, clap::Error> {
        let is_plain = self.serving == Serve::default();
        let alone = Serve { how: self.serving.how, ..Serve::default() };
        match (&self.command, self.mcp, self.selftest) {
            (None, false, false) => Ok(Command::Serve(self.serving)),
            (None, true, _) if self.serving == alone => Ok(Command::Stdio(self.serving.how)),
            (None, false, true) if is_plain => Ok(Command::Selftest),
            (Some(command), false, false) if is_plain => Ok(command.clone()),
            (_, _, _) if !is_plain => Err(conflict(
                "--port and --bind stand behind `serve`, --standalone behind `serve` or `stdio`, and none with another \
                 command",
            )),
            (_, _, _) => {
                Err(conflict("--mcp and --selftest stand for a command and cannot be used with one"))
            }
        }
    }
}

fn conflict(why: &str) -> clap::Error {
    Cli::command().error(clap::error::ErrorKind::ArgumentConflict, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[track_caller]
    fn check(line: &str, expected: Result<Command, clap::error::ErrorKind>) {
        let words = ["toolcrib"].into_iter().chain(line.split_whitespace());
        let action = Cli::try_parse_from(words).and_then(|cli| cli.action());
        assert_eq!(action.map_err(|error| error.kind()), expected, "{line}");
    }

    #[test]
    fn lines_and_what_they_mean() {
        let call = |name: &str, arguments: &[&str]| {
            let arguments = arguments.iter().map(|&word| word.into()).collect();
            Command::Tools(Tools::Call {
                name: name.into(),
                arguments,
                dry_run: false,
                plan: None,
                job: false,
                priority: None,
                retries: None,
                stream: false,
                request_id: None,
                context: None,
            })
        };
        let (shared, alone) = (Serving { standalone: false }, Serving { standalone: true });
        let serve = |how| Serve { how, ..Serve::default() };
        check("", Ok(Command::Serve(serve(shared))));
        check("--standalone", Ok(Command::Serve(serve(alone))));
        check("serve --standalone", Ok(Command::Serve(serve(alone))));
        check("serve --port 1", Ok(Command::Serve(Serve { port: Some(1), ..serve(shared) })));
        check("--port 1", Ok(Command::Serve(Serve { port: Some(1), ..serve(shared) })));
        check("--mcp", Ok(Command::Stdio(shared)));
        check("--mcp --standalone", Ok(Command::Stdio(alone)));
        check("stdio", Ok(Command::Stdio(shared)));
        check("stdio --standalone", Ok(Command::Stdio(alone)));
        check("--config a.toml stdio", Ok(Command::Stdio(shared)));
        check("stdio --config a.toml", Ok(Command::Stdio(shared)));
        check("--selftest", Ok(Command::Selftest));
        check("tools call x", Ok(call("x", &[])));
        check("tools call x -", Ok(call("x", &["-"])));
        check("tools call x a=1 b=2 --json", Ok(call("x", &["a=1", "b=2"])));
        let set = |value: &[&str]| {
            let value = value.iter().map(|&word| word.to_owned()).collect();
            Command::Secrets(Secrets::Set { name: "X".into(), whom: Vec::new(), value })
        };
        check("secrets set X --json", Ok(set(&[])));
        // Told by the command, which repeats none of it.
        check("secrets set X a b", Ok(set(&["a", "b"])));
        let tail = Audit::Tail { lines: 3, follow: false, before: None, filter: Filter::default() };
        check("audit tail -n 3", Ok(Command::Audit(tail)));
    }

    #[test]
    fn lines_that_mean_nothing() {
        use clap::error::ErrorKind::*;
        check("--mcp --selftest", Err(ArgumentConflict));
        check("--mcp serve", Err(ArgumentConflict));
        check("--juggle", Err(UnknownArgument));
        check("--standalone tools list", Err(ArgumentConflict));
        check("--standalone --selftest", Err(ArgumentConflict));
        check("--mcp --port 1", Err(ArgumentConflict));
        check("serve --port 1 --bind 127.0.0.1:1", Err(ArgumentConflict));
        check("serve --bind 3000", Err(ValueValidation));
        check("tools list --standalone", Err(UnknownArgument));
        check("tools juggle", Err(InvalidSubcommand));
        check("tools", Err(DisplayHelpOnMissingArgumentOrSubcommand));
        check("tools call", Err(MissingRequiredArgument));
        check("tools call x --priority 1", Err(MissingRequiredArgument));
        check("tools call x --retries 1", Err(MissingRequiredArgument));
        check("tools call x --job --priority -11", Err(ValueValidation));
        check("tools call x --job --retries 6", Err(ValueValidation));
        check("audit tail -n many", Err(ValueValidation));
        check("completions abacus", Err(InvalidValue));
    }
}

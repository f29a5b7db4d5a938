//! The commands, one file each. This file is the list of them, and what they share: loading the
//! configuration and starting the log.

mod audit;
mod completions;
mod config;
mod gated;
mod mcp;
mod prompts;
mod resources;
mod selftest;
mod serve;
mod stdio;
mod tools;

use crate::cli::{Cli, Command};
use crate::config::{self as configuration, Loaded, Surroundings};
use crate::ending::{Ending, Trouble};
use crate::log::{self, Level};

/// Runs a command to its end.
pub(crate) fn run(cli: &Cli, command: Command) -> Result<Ending, Trouble> {
    match command {
        Command::Serve => serve::run(cli),
        Command::Stdio => stdio::run(cli),
        Command::Selftest => selftest::run(cli),
        Command::Tools(command) => tools::run(cli, command),
        Command::Mcp(command) => mcp::run(cli, command),
        Command::Resources(command) => resources::run(cli, command),
        Command::Prompts(command) => prompts::run(cli, command),
        Command::Config(command) => config::run(cli, command),
        Command::Audit(command) => audit::run(cli, command),
        Command::Completions { shell } => completions::run(shell),
    }
}

/// How much of the log a command needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Log {
    /// As configured: the log of a server is what its owner reads.
    AsConfigured,
    /// Only our own failures, unless TOOLCRIB_LOG asks for more: the command tells the rest itself.
    Quiet,
}

/// Loads the configuration in effect and starts the log.
fn start(cli: &Cli, log: Log) -> Result<Loaded, Trouble> {
    let loaded = load(cli)?;
    begin(&loaded, log)?;
    Ok(loaded)
}

/// Starts the log.
fn begin(loaded: &Loaded, log: Log) -> Result<(), Trouble> {
    let mut config = loaded.settings.log.clone();
    if log == Log::Quiet {
        config.level = config.level.min(Level::Error);
    }
    let started = log::start(&config, loaded.log_override.as_deref());
    started.map_err(|error| Trouble::Misused(error.to_string()))
}

/// Loads the configuration in effect.
fn load(cli: &Cli) -> Result<Loaded, Trouble> {
    Ok(configuration::load(cli.config.as_deref(), &surroundings()?)?)
}

/// The process's surroundings.
fn surroundings() -> Result<Surroundings, Trouble> {
    Surroundings::of_process()
        .map_err(|error| Trouble::Failed(format!("the current folder cannot be found: {error}")))
}

//! The commands, one file each. This file is the list of them.

mod approvals;
mod artifacts;
mod audit;
mod caller;
mod choices;
mod completions;
mod config;
mod doctor;
mod forms;
mod gated;
mod in_run;
mod init;
mod jobs;
mod keys;
mod load;
mod man;
mod manifest;
mod mcp;
mod misplaced;
mod policy;
mod prompts;
mod resources;
mod rules;
mod sandboxed;
mod secrets;
mod selftest;
mod serve;
mod service;
mod start;
mod stdio;
mod stop;
mod tools;
mod troubles;
mod trust;
mod typed;
mod waiting;

use terminal::{Ending, Trouble};

use crate::cli::{Cli, Command, System};

pub(crate) use completions::are_answered;
pub(crate) use stdio::greet;

/// Runs a command to its end.
pub(crate) fn run(cli: &Cli, command: Command) -> Result<Ending, Trouble> {
    match command {
        Command::Serve(serve) => serve::run(cli, serve.how),
        Command::Stdio(serving) => stdio::run(cli, serving),
        Command::Init(whose) => init::run(cli, whose),
        Command::Stop => stop::run(cli),
        Command::Service(command) => service::run(cli, command),
        Command::Selftest => selftest::run(cli),
        Command::Doctor { net } => doctor::run(cli, net),
        Command::Sandbox(command) => sandboxed::run(cli, command),
        Command::Trust(asked) => trust::run(cli, &asked),
        Command::Tools(command) => tools::run(cli, command),
        Command::Manifest(command) => manifest::run(cli, command),
        Command::Mcp(command) => mcp::run(cli, command),
        Command::Import(import) => match import.system {
            System::Scorpiox => mcp::import_scorpiox(cli, &import),
        },
        Command::Resources(command) => resources::run(cli, command),
        Command::Prompts(command) => prompts::run(cli, command),
        Command::Config(command) => config::run(cli, command),
        Command::Policy(command) => policy::run(cli, command),
        Command::Rules(command) => rules::run(cli, command),
        Command::Approvals(command) => approvals::run(cli, command),
        Command::Secrets(command) => secrets::run(cli, command),
        Command::Jobs(command) => jobs::run(cli, command),
        Command::Keys(command) => keys::run(cli, command),
        Command::Artifacts(command) => artifacts::run(cli, command),
        Command::Audit(command) => audit::run(cli, command),
        Command::Completions { shell } => completions::run(shell),
        Command::Man { words } => man::run(&words),
    }
}

//! The `toolcrib` program: reads the command line and the configuration, puts the crates together, and
//! runs the command. It names every crate and decides nothing.

mod administration;
mod assemble;
mod cli;
mod clients;
mod commands;
mod config;
mod config_edit;
mod control;
mod ending;
mod front;
mod http_door;
mod log;
mod named_workspaces;
mod observing;
mod open_files;
mod person;
mod print;
mod resident;
mod runtime;
mod secrets;
mod shared;
mod signals;
mod state;
mod times;
mod token_store;
mod unseen;
mod upstreams;

use std::process::ExitCode;

use clap::Parser as _;

use ending::{Ending, Trouble};
use shared::{GUARD, RESIDENT};

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let first = words.next();
    if first.as_ref().is_some_and(|word| word == GUARD) {
        // Before anything else: a guard must not start threads or read a configuration.
        std::process::exit(sandbox::guard::main(words));
    }
    sandbox::give_back_large_buffers();
    if first.is_some_and(|word| word == RESIDENT) {
        return resident::main(words, commands::greet);
    }
    signals::outlive_large_files();
    let cli = cli::Cli::try_parse().unwrap_or_else(|error| unread(&error));
    let command = cli.action().unwrap_or_else(|error| unread(&error));
    match commands::run(&cli, command) {
        Ok(ending) => ending.into(),
        Err(trouble) => {
            let ending = trouble.ending();
            if ending != Ending::Good {
                print::remark(&trouble.to_string());
                // Whoever reads JSON gets one object: what was found out before, or what went wrong.
                if cli.json && print::is_silent() {
                    let _ = print::json(&trouble.to_json());
                }
            }
            ending.into()
        }
    }
}

/// Ends the program by a command line that cannot be read, or that asks for help.
fn unread(error: &clap::Error) -> ! {
    let wants_json = std::env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json");
    if error.use_stderr() && wants_json {
        let said = error.render().to_string();
        let first = said.lines().next().unwrap_or_default();
        let first = first.strip_prefix("error: ").unwrap_or(first);
        // The exit code says the same if nobody reads it.
        let _ = print::json(&Trouble::Misused(first.to_owned()).to_json());
    }
    error.exit()
}

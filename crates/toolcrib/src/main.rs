//! The `toolcrib` program: reads the command line and the configuration, puts the crates together, and
//! runs the command. It names every crate and decides nothing.

mod assemble;
mod cli;
mod clients;
mod commands;
mod config;
mod control;
mod ending;
mod keeper;
mod log;
mod open_files;
mod print;
mod runtime;
mod signals;
mod upstreams;

use std::process::ExitCode;

use clap::Parser as _;

use ending::Ending;

/// The first argument of a process that is to guard another; not for people, so not in the help.
const GUARD: &str = "__guard";

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == GUARD) {
        // Before anything else: a guard must not start threads or read a configuration.
        std::process::exit(sandbox::guard::main(words));
    }
    let cli = cli::Cli::parse();
    let command = cli.action().unwrap_or_else(|error| error.exit());
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

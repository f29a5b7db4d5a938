//! The `toolcrib` program: reads the command line and the configuration, puts the crates together, and
//! runs the command. It names every crate and decides nothing.

mod cli;
mod commands;

use std::process::ExitCode;

use daemon::own_program::{GUARD, PROBE, RESIDENT, SPAWNER};
use daemon::resident;
use terminal::{Ending, Trouble, paint, print, signals};
use tool_api::Worker;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let first = words.next();
    if first.as_ref().is_some_and(|word| word == GUARD) {
        // Before anything else: a guard must not start threads or read a configuration.
        std::process::exit(sandbox::guard::main(words));
    }
    if first.as_ref().is_some_and(|word| word == SPAWNER) {
        std::process::exit(sandbox::confine::spawner_main(words));
    }
    if first.as_ref().is_some_and(|word| word == PROBE) {
        std::process::exit(sandbox::confine::probe_main(words));
    }
    if let Some(worker) = first.as_deref().and_then(Worker::of) {
        // It is confined already, and no file of ours is there.
        std::process::exit(match worker {
            Worker::Image => images::main(words),
            Worker::Page => pages::main(words),
        });
    }
    sandbox::give_back_large_buffers();
    if first.is_some_and(|word| word == RESIDENT) {
        return resident::main(words, commands::greet);
    }
    if commands::are_answered() {
        return ExitCode::SUCCESS;
    }
    signals::outlive_large_files();
    let cli = cli::Cli::of_process().unwrap_or_else(|error| unread(&error));
    let command = cli.action().unwrap_or_else(|error| unread(&error));
    if cli.json {
        paint::without_colours();
    }
    match commands::run(&cli, command) {
        Ok(ending) => ending.into(),
        Err(trouble) => {
            let ending = trouble.ending();
            match ending {
                Ending::Good => {}
                // Whoever reads JSON gets one object: what was found out before, or what went wrong.
                _ if cli.json && print::is_silent() => {
                    // The exit code says the same if nobody reads it.
                    let _ = print::json(&trouble.to_json());
                }
                _ => print::error(&trouble.to_string()),
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

//! The list of commands, and the one that was typed.

use std::process::ExitCode;

use crate::checkout::Checkout;
use crate::{bench, conformance, docs, e2e, install, quick, test, tidy};

/// One command: its name, a line of help, and the function that does it with the words that follow.
struct Command {
    name: &'static str,
    about: &'static str,
    run: fn(&Checkout, &[String]) -> anyhow::Result<()>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "quick",
        about: "format, lints, unit tests and house rules; under a minute",
        run: quick::run,
    },
    Command { name: "test", about: "[STEP…] everything CI runs, or the named steps", run: test::run },
    Command {
        name: "e2e", about: "[NAME…] the end-to-end cases whose names contain a word", run: e2e::run
    },
    Command {
        name: "long",
        about: "[NAME…] the end-to-end cases that try their luck, for half an hour",
        run: e2e::run_long,
    },
    Command {
        name: "conformance",
        about: "[LEG…] the protocol's own suites; --write makes the page in docs/",
        run: conformance::run,
    },
    Command { name: "tidy", about: "the house rules", run: tidy::run },
    Command { name: "docs", about: "write the generated pages of docs/", run: docs::write },
    Command { name: "install", about: "what the tests need, into .cache/", run: install::run },
    Command { name: "bench", about: "measure the fully optimised build beside its peers", run: bench::run },
];

/// Runs the command that was typed.
pub fn run() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        print!("{}", usage());
        return ExitCode::SUCCESS;
    };
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        eprint!("there is no command `{name}`\n\n{}", usage());
        return ExitCode::from(2);
    };
    match Checkout::locate().and_then(|checkout| (command.run)(&checkout, rest)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\n{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> String {
    let rows = COMMANDS.iter().map(|command| format!("  {:<13}{}\n", command.name, command.about));
    format!("cargo xtask COMMAND\n\n{}", rows.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_the_help_once() {
        for command in COMMANDS {
            let rows = usage().lines().filter(|line| line.trim_start().starts_with(command.name)).count();
            assert_eq!(rows, 1, "{}", command.name);
        }
    }
}

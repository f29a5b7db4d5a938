//! The list of commands, and the one that was typed.

use std::process::ExitCode;

use crate::checkout::{Checkout, System};
use crate::{
    bench, conformance, docs, e2e, fuzz, install, long, mutants, package, quick, scripts, test, tidy,
    toolchain,
};

/// One command: its name, a line of help, and the function that does it with the words that follow.
struct Command {
    name: &'static str,
    about: &'static str,
    run: fn(&Checkout, &[String]) -> anyhow::Result<()>,
}

/// The commands that install what they need, and the word that keeps them from installing it on the machine itself.
const INSTALLING: &[&str] = &["test", "e2e", "long", "conformance", "install", "package"];
const NO_SYSTEM: &str = "--no-system";

const COMMANDS: &[Command] = &[
    Command {
        name: "quick",
        about: "format, lints, unit tests and house rules; under a minute",
        run: quick::run,
    },
    Command {
        name: "test",
        about: "[--no-system] [STEP…] everything CI runs, or the named steps",
        run: test::run,
    },
    Command {
        name: "e2e", about: "[NAME…] the end-to-end cases whose names contain a word", run: e2e::run
    },
    Command {
        name: "long",
        about: "[--no-system] [STEP…] cases that try their luck, other people's clients and servers, fuzzing, a share of the mutants; an hour and a half",
        run: long::run,
    },
    Command { name: "fuzz", about: "[TARGET…] a minute of made-up input for each parser", run: fuzz::run },
    Command {
        name: "mutants",
        about: "[CRATE…] [K/N] small breaks that a test must notice; today's share, a ninetieth, takes half an hour",
        run: mutants::run,
    },
    Command {
        name: "conformance",
        about: "[LEG…] the protocol's own suites; --write makes the page in docs/",
        run: conformance::run,
    },
    Command { name: "tidy", about: "the house rules", run: tidy::run },
    Command { name: "scripts", about: "format the JavaScript and Python, and mend it", run: scripts::run },
    Command { name: "docs", about: "write the generated pages of docs/", run: docs::write },
    Command { name: "install", about: "what the tests need, into .cache/", run: install::run },
    Command {
        name: "lock",
        about: "[FOLDER…] make the lock files of npm's and Python's packages anew",
        run: install::lock::run,
    },
    Command {
        name: "toolchain",
        about: "whether the newest stable compiler here builds the workspace; fails nothing",
        run: toolchain::run,
    },
    Command {
        name: "package",
        about: "[--no-system] a static build as tarball, Debian package, npm package and wheel, in target/package/",
        run: package::run,
    },
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
    let (rest, system) = system(name, rest);
    match Checkout::locate().and_then(|checkout| (command.run)(&Checkout { system, ..checkout }, &rest)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\n{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The words without the one that is about the machine's own programs, and what it says.
fn system(command: &str, words: &[String]) -> (Vec<String>, System) {
    let is_it = |word: &&String| INSTALLING.contains(&command) && *word == NO_SYSTEM;
    let system = if words.iter().any(|word| is_it(&word)) { System::Name } else { System::Install };
    (words.iter().filter(|word| !is_it(word)).cloned().collect(), system)
}

fn usage() -> String {
    let rows = COMMANDS.iter().map(|command| format!("  {:<13}{}\n", command.name, command.about));
    format!(
        "cargo xtask COMMAND\n\n{}\nwith {NO_SYSTEM}, {} name what the machine lacks instead of installing it\n",
        rows.collect::<String>(),
        INSTALLING.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_installs_can_be_told_to_leave_the_machine_alone() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(system("test", &words(&["fmt"])), (words(&["fmt"]), System::Install));
        assert_eq!(system("test", &words(&["--no-system", "fmt"])), (words(&["fmt"]), System::Name));
        // Left to the command, which knows no such word.
        assert_eq!(system("tidy", &words(&["--no-system"])), (words(&["--no-system"]), System::Install));
        assert!(INSTALLING.iter().all(|name| COMMANDS.iter().any(|command| command.name == *name)));
    }

    #[test]
    fn every_command_is_in_the_help_once() {
        for command in COMMANDS {
            let rows = usage().lines().filter(|line| line.trim_start().starts_with(command.name)).count();
            assert_eq!(rows, 1, "{}", command.name);
        }
    }
}

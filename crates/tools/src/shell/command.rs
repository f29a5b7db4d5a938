//! What can be a command, and how bash is given one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_api::{Command, Streams, ToolError};

/// The longest command. Linux hands a program no argument of 128 KiB, and what is longer is a script.
const COMMAND_BYTES_MAX: usize = 100 * 1024;

/// What runs commands. Another shell would read them otherwise.
const SHELL: &str = "bash";

/// The exit code of a program that is not there.
const NOT_FOUND: i64 = 127;

/// What a terminal is called whose screen nobody draws: programs then print lines, and one that draws says what it lacks.
const TERMINAL: (&str, &str) = ("TERM", "dumb");

/// What a command reads that can be told more while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum Open {
    Pipe,
    Tty,
}

/// The program that runs a command.
///
/// # Errors
/// It cannot be one.
pub(super) fn program(command: &str, stdin: Option<Open>) -> Result<Command, ToolError> {
    check(command)?;
    let (streams, env) = match stdin {
        None | Some(Open::Pipe) => (Streams::Merged, Vec::new()),
        Some(Open::Tty) => (Streams::Terminal, vec![(TERMINAL.0.into(), TERMINAL.1.into())]),
    };
    let args = vec!["-c".into(), command.into()];
    Ok(Command {
        program: SHELL.into(),
        args,
        env,
        streams,
        keeps_stdin: stdin.is_some(),
        ..Command::default()
    })
}

/// # Errors
/// It cannot be one.
pub(super) fn check(command: &str) -> Result<(), ToolError> {
    let wrong = |why: String| Err(ToolError::new("invalid_arguments", why));
    match command {
        _ if command.trim().is_empty() => wrong("the command is empty".to_owned()),
        _ if command.len() > COMMAND_BYTES_MAX => wrong(format!(
            "the command has {} bytes, and one has at most {COMMAND_BYTES_MAX}: write it to a file of the workspace first, \
             and run `bash FILE`",
            command.len()
        )),
        _ if command.contains('\0') => wrong(
            "a command has no NUL character; where a program is to read one, have it made by `printf '\\0'`"
                .to_owned(),
        ),
        _ => Ok(()),
    }
}

/// Says what a machine without bash lacks.
pub(super) fn not_started(error: ToolError) -> ToolError {
    let code = error.details().and_then(|details| details["exit_code"].as_i64());
    if error.code() != "program_not_run" || code != Some(NOT_FOUND) {
        return error;
    }
    let message = "this machine has no bash where sandboxed programs find it, and no other shell is run in its place: have a \
                   person install bash (`apt install bash`, `apk add bash`)";
    ToolError::new("no_shell", message).with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_bash_cannot_be_given_is_refused_with_what_to_do() {
        let why = |command: &str| check(command).map_err(|error| error.to_string());
        assert_eq!(why("true"), Ok(()));
        assert_eq!(why(&"x".repeat(COMMAND_BYTES_MAX)), Ok(()));
        assert_eq!(why(" \n"), Err("the command is empty".to_owned()));
        assert!(why("a\0b").is_err_and(|why| why.contains("`printf '\\0'`")));
        let long = "x".repeat(1024 * 1024);
        assert!(why(&long).is_err_and(|why| why.contains("1048576 bytes") && why.contains("`bash FILE`")));
    }

    #[test]
    fn a_machine_without_bash_is_told_from_other_faults() {
        let not_run = |code: i64| {
            let details = serde_json::json!({ "exit_code": code });
            not_started(ToolError::new("program_not_run", "it was not run").with_details(details))
        };
        assert_eq!(not_run(127).code(), "no_shell");
        assert_eq!(not_run(126).to_string(), "it was not run");
        assert_eq!(not_started(ToolError::cancelled()).code(), ToolError::CANCELLED);
    }
}

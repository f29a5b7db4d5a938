//! `completions`: a script that teaches a shell our words. It asks this program for them each time, so that the names of
//! servers, tools and the like are those of the moment.

use std::io::Write as _;

use clap::CommandFactory as _;
use clap_complete::{CompleteEnv, Shell, env::Shells};
use terminal::{Ending, Trouble, print};

use crate::cli::Cli;

/// Says in a shell's call which shell it is.
const VARIABLE: &str = "TOOLCRIB_COMPLETE";

const PROGRAM: &str = "toolcrib";

/// A file in a folder of zsh's functions is itself the function that is called the first time.
const ZSH_FIRST_CALL: &str = r#"
if [ "$funcstack[1]" = "_toolcrib" ]; then
    _clap_dynamic_completer_toolcrib "$@"
fi
"#;

pub(super) fn run(shell: Shell) -> Result<Ending, Trouble> {
    print::line(script(shell)?.trim_end())?;
    Ok(Ending::Good)
}

/// Answers a shell that asks for words. False if none does.
pub(crate) fn are_answered() -> bool {
    let complete = CompleteEnv::with_factory(Cli::command).var(VARIABLE).bin(PROGRAM).completer(PROGRAM);
    let here = std::env::current_dir().ok();
    // A shell has no use for an error.
    complete.try_complete(std::env::args_os(), here.as_deref()).unwrap_or(true)
}

fn script(shell: Shell) -> Result<String, Trouble> {
    let shells = Shells::builtins();
    let completer = shells.completer(&shell.to_string());
    let completer = completer.ok_or_else(|| Trouble::Failed(format!("nothing completes for {shell}")))?;
    let mut script = Vec::new();
    // Into memory first: the generator does not expect a reader that goes away.
    completer.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    if shell == Shell::Zsh {
        script.write_all(ZSH_FIRST_CALL.as_bytes())?;
    }
    Ok(String::from_utf8_lossy(&script).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_learns_to_ask() {
        for shell in [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::PowerShell, Shell::Zsh] {
            let script = script(shell).expect("a script");
            for word in [PROGRAM, VARIABLE] {
                assert!(script.contains(word), "{shell}: {word}: {script}");
            }
        }
    }
}

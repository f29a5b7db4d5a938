//! `completions`: a script that teaches a shell our words.

use clap::CommandFactory as _;
use clap_complete::{Shell, generate};
use terminal::{Ending, Trouble, print};

use crate::cli::Cli;

pub(super) fn run(shell: Shell) -> Result<Ending, Trouble> {
    print::line(script(shell).trim_end())?;
    Ok(Ending::Good)
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    // Into memory first: the generator does not expect a reader that goes away.
    generate(shell, &mut Cli::command(), "toolcrib", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_learns_every_command() {
        for shell in [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::PowerShell, Shell::Zsh] {
            let script = script(shell);
            for word in ["toolcrib", "selftest", "stdio", "verify", "--config"] {
                // Fish writes `-l config` for `--config`.
                let found = script.contains(word) || script.contains(&word.replace("--", "-l "));
                assert!(found, "{shell}: {word}");
            }
            assert!(!script.contains("__guard"), "{shell}");
        }
    }
}

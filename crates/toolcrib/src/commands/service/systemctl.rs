//! Asking the user's systemd, by its own command.

use std::io::ErrorKind;
use std::time::Duration;

use sandbox::{ProgramOutput, ask_program};
use terminal::Trouble;

/// The unit's name.
pub(super) const UNIT: &str = "toolcrib.service";

const PROGRAM: &str = "systemctl";

/// It waits for a service to stop, which the unit gives thirty seconds.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Makes sure that the user has a systemd.
///
/// # Errors
/// If not.
pub(super) fn check() -> Result<(), Trouble> {
    let found = asked(&["show", "--property=Version"])?;
    if found.is_success {
        return Ok(());
    }
    Err(Trouble::Failed(format!(
        "systemd does not run for you here ({}), so nothing was changed; start `toolcrib serve` by other means, or try again \
         in a session of your own",
        said(&found)
    )))
}

/// Has something done to the unit.
///
/// # Errors
/// If it is refused.
pub(super) fn act(words: &[&str]) -> Result<(), Trouble> {
    let done = asked(words)?;
    if done.is_success {
        return Ok(());
    }
    let words = words.join(" ");
    Err(Trouble::Failed(format!("`systemctl --user {words}` failed: {}", said(&done))))
}

/// What is said of the unit's state, in a word.
///
/// # Errors
/// If it cannot be asked.
pub(super) fn state(question: &str) -> Result<String, Trouble> {
    let answer = asked(&[question, UNIT])?;
    let word = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    Ok(if word.is_empty() { "unknown".to_owned() } else { word })
}

fn asked(words: &[&str]) -> Result<ProgramOutput, Trouble> {
    let words: Vec<&str> = ["--user"].iter().chain(words).copied().collect();
    ask_program(PROGRAM, &words, "", ANSWER_MAX).map_err(|error| {
        Trouble::Failed(match error.kind() {
            ErrorKind::NotFound => {
                "there is no systemd here (no program systemctl), so nothing was changed; start `toolcrib serve` by other means"
                    .to_owned()
            }
            _ => format!("systemctl cannot be asked: {error}"),
        })
    })
}

fn said(output: &ProgramOutput) -> String {
    output.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
}

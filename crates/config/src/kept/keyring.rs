//! The keyring of the desktop as the holder of the key: the Secret Service that GNOME, KDE and others offer, through its
//! own command `secret-tool`. A library that speaks with it would bring a hundred more, for one text that is asked for
//! once in the life of a process.

use std::io::ErrorKind;
use std::time::Duration;

use sandbox::{ProgramOutput, ask_program};
use store::KeyHolder;

const PROGRAM: &str = "secret-tool";

/// By what the key is found again.
const ATTRIBUTES: [&str; 4] = ["service", "toolcrib", "account", "master-key"];

/// What people are shown of it.
const LABEL: &str = "--label=Toolcrib: key of kept secrets";

/// The keyring may ask its owner for a password first.
const ANSWER_MAX: Duration = Duration::from_secs(120);

/// The keyring of whoever runs the program.
pub(super) struct Keyring;

impl KeyHolder for Keyring {
    fn name(&self) -> String {
        "the keyring".to_owned()
    }

    fn load(&self) -> Result<Option<String>, String> {
        let words: Vec<&str> = ["lookup"].into_iter().chain(ATTRIBUTES).collect();
        found(ask(&words, "")?)
    }

    fn keep(&self, key: &str) -> Result<(), String> {
        let words: Vec<&str> = ["store", LABEL].into_iter().chain(ATTRIBUTES).collect();
        // On its standard input, since everybody can read command lines.
        let output = ask(&words, key)?;
        if output.is_success { Ok(()) } else { Err(refused(&output)) }
    }
}

/// The key in the output: one that is not there is no error, and has none.
fn found(output: ProgramOutput) -> Result<Option<String>, String> {
    let text =
        String::from_utf8(output.stdout.clone()).map_err(|_| "holds a key that is no text".to_owned())?;
    match (output.is_success, text.trim()) {
        (true, "") => Ok(None),
        (true, key) => Ok(Some(key.to_owned())),
        (false, "") if output.stderr.trim().is_empty() => Ok(None),
        (false, _) => Err(refused(&output)),
    }
}

fn refused(output: &ProgramOutput) -> String {
    let why = output.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    format!(
        "cannot be used ({why}); is a desktop with a keyring running? name another `key` in [secrets] if there is none"
    )
}

fn ask(words: &[&str], input: &str) -> Result<ProgramOutput, String> {
    ask_program(PROGRAM, words, input, ANSWER_MAX).map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!(
            "needs the program `{PROGRAM}`, which is not in PATH; install it (Debian's package is libsecret-tools), or name \
             another `key` in [secrets]"
        ),
        ErrorKind::TimedOut => format!("did not answer within {} seconds; unlock it", ANSWER_MAX.as_secs()),
        _ => format!("cannot be asked: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(is_success: bool, stdout: &str, stderr: &str, expected: Result<Option<&str>, &str>) {
        let output = ProgramOutput { is_success, stdout: stdout.into(), stderr: stderr.to_owned() };
        let found = found(output);
        assert_eq!(found, expected.map(|key| key.map(str::to_owned)).map_err(str::to_owned));
    }

    #[test]
    fn a_key_that_is_not_there_is_told_from_a_keyring_that_is_not() {
        check(true, "6f6f\n", "", Ok(Some("6f6f")));
        check(true, "", "", Ok(None));
        check(false, "", "", Ok(None));
        let why = "cannot be used (secret-tool: Cannot autolaunch D-Bus without X11 $DISPLAY); is a desktop with a keyring \
                   running? name another `key` in [secrets] if there is none";
        check(false, "", "secret-tool: Cannot autolaunch D-Bus without X11 $DISPLAY\n", Err(why));
    }
}

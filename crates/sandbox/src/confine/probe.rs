//! Trying to escape: the same attempts outside and inside. What succeeds outside must be held inside.
//!
//! `toolcrib doctor` shows the outcome, and the crate's tests hold it.

mod attempt;
mod files;
mod network;
mod processes;
mod scene;
mod self_test;

use std::ffi::OsString;
use std::process::{Command, Stdio};

use attempt::{ATTEMPTS, Attempt};
use scene::Targets;

pub use self_test::{Attempted, Held, self_test, try_outside};

/// What the probe says of an attempt, behind its name.
const ESCAPED: &str = "escaped";
const HELD: &str = "held";

/// The whole life of a probe: it makes the attempts that its first argument names, each in a process of its own, or, if it is
/// one of these, the only one; and says a line about each. The second argument is [`Targets`]. Returns the exit code.
pub fn main(words: impl IntoIterator<Item = OsString>) -> i32 {
    let words: Vec<String> = words.into_iter().filter_map(|word| word.into_string().ok()).collect();
    let [names, targets, rest @ ..] = words.as_slice() else { return 2 };
    let names: Vec<&str> = names.split(',').collect();
    let wanted: Vec<&Attempt> = ATTEMPTS.iter().filter(|attempt| names.contains(&attempt.name)).collect();
    match (wanted.as_slice(), rest) {
        ([only], [flag]) if flag == "only" => i32::from(!escapes(only, targets)),
        _ => {
            wanted.iter().for_each(|attempt| say(attempt, &words[1]));
            0
        }
    }
}

/// Some attempts change the process that makes them, and some end it.
fn say(attempt: &Attempt, targets: &str) {
    let us = std::env::current_exe().unwrap_or_default();
    let mut command = Command::new(us);
    command.args(Targets::parse(targets).map(|targets| targets.probe_words).unwrap_or_default());
    command.args([attempt.name, targets, "only"]).stdin(Stdio::null()).stderr(Stdio::null());
    let outcome = match command.status() {
        Ok(status) if status.success() => ESCAPED,
        Ok(_) => HELD,
        // Nothing was tried, and that is no success.
        Err(_) => "not tried",
    };
    let _ = std::io::Write::write_all(
        &mut std::io::stdout(),
        format!("{}: {outcome}\n", attempt.name).as_bytes(),
    );
}

fn escapes(attempt: &Attempt, targets: &str) -> bool {
    Targets::parse(targets).is_some_and(|targets| (attempt.run)(&targets).is_ok())
}

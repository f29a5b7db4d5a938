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
use std::io::{self, Write as _};

use rustix::process::{WaitOptions, waitpid};

use super::fork::fork;
use attempt::{ATTEMPTS, Attempt};
use scene::Targets;

pub use self_test::{Attempted, Held, Tested, self_test, try_outside};

/// What the probe says of an attempt, behind its name.
const ESCAPED: &str = "escaped";
const HELD: &str = "held";

/// The whole life of a probe: it makes all attempts, each in a process of its own, since some change the process that makes
/// them and some end it, and says a line about each. Its argument is what there is to escape to. Must be called in a process
/// started for nothing else, before any thread exists. Returns the exit code.
pub fn main(words: impl IntoIterator<Item = OsString>) -> i32 {
    let targets = words.into_iter().next().and_then(|targets| Targets::parse(targets.to_str()?));
    let Some(targets) = targets else { return 2 };
    for attempt in &ATTEMPTS {
        // Who reads it misses a line that could not be said, and takes that for no success.
        let _ = try_it(attempt, &targets).and_then(|outcome| say(attempt.name, outcome));
    }
    0
}

fn try_it(attempt: &Attempt, targets: &Targets) -> io::Result<&'static str> {
    match fork()? {
        None => std::process::exit(i32::from((attempt.run)(targets).is_err())),
        Some(child) => {
            let ended = waitpid(Some(child), WaitOptions::empty())?;
            let code = ended.and_then(|(_, status)| status.exit_status());
            Ok(if code == Some(0) { ESCAPED } else { HELD })
        }
    }
}

fn say(name: &str, outcome: &str) -> io::Result<()> {
    io::stdout().write_all(format!("{name}: {outcome}\n").as_bytes())
}

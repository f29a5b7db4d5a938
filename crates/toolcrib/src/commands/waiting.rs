//! What a person at a terminal sees while a command waits: that it waits, for what, and how far a tool has come.

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use terminal::bar::{self, Step};
use terminal::print::{self, harmless};
use tool_api::{Listener, Progress};

/// Nobody wonders before that.
const WAIT_TOLD: Duration = Duration::from_secs(2);

/// Does the work, and says what it waits for if that takes longer than a person expects.
pub(super) async fn told<T>(what: impl FnOnce() -> Option<String>, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    tokio::select! {
        biased;
        done = &mut work => return done,
        () = tokio::time::sleep(WAIT_TOLD) => {}
    }
    if let Some(what) = what().filter(|_| is_seen()) {
        print::remark(&harmless(&format!("waiting for {what}; Ctrl-C stops it")));
    }
    work.await
}

/// Whether somebody reads along.
pub(super) fn is_seen() -> bool {
    io::stderr().is_terminal()
}

/// Tells how far a call has come.
pub(super) struct Steps;

impl Listener for Steps {
    fn progress(&self, progress: Progress) {
        told_of(progress, |it| print::remark(&harmless(&step(it.done, it.total, it.message))));
    }

    fn log(&self, _: Bytes) {}
}

/// Reads a step of either kind.
fn told_of(progress: Progress, tell: impl FnOnce(&Step<'_>)) {
    match progress {
        Progress::Step { done, total, message } => {
            tell(&Step { done: Some(done), total, message: message.as_deref() });
        }
        Progress::Relayed(params) => {
            let params: Value = serde_json::from_slice(&params).unwrap_or_default();
            let number = |key: &str| params[key].as_f64();
            tell(&Step {
                done: number("progress"),
                total: number("total"),
                message: params["message"].as_str(),
            });
        }
    }
}

/// Tells the same to whoever reads along, be it a program, and what the tool says besides. A person at a terminal sees a bar.
pub(super) struct Streamed;

impl Listener for Streamed {
    fn progress(&self, progress: Progress) {
        match bar::is_possible() {
            true => told_of(progress, print::progress),
            false => Steps.progress(progress),
        }
    }

    fn log(&self, params: Bytes) {
        let params: Value = serde_json::from_slice(&params).unwrap_or_default();
        match &params["data"] {
            // What a program prints ends its own lines.
            Value::String(text) => print::remark(&harmless(text.strip_suffix('\n').unwrap_or(text))),
            other => print::remark(&other.to_string()),
        }
    }
}

fn step(done: Option<f64>, total: Option<f64>, message: Option<&str>) -> String {
    let done = done.map(|done| match total {
        Some(total) => format!("{done} of {total}"),
        None => done.to_string(),
    });
    let parts: Vec<String> = done.into_iter().chain(message.map(str::to_owned)).collect();
    format!("… {}", parts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_a_line() {
        for (done, total, message, expected) in [
            (Some(1.0), Some(3.0), Some("reading"), "… 1 of 3 reading"),
            (Some(0.5), None, None, "… 0.5"),
            (None, None, Some("reading"), "… reading"),
        ] {
            assert_eq!(step(done, total, message), expected);
        }
    }
}

//! `Told`: what a program tells while it runs, as lines of JSON on its descriptor 3 and as what it prints on stderr, passed on to
//! whoever listens. `Meter`: how far the call has come, which only grows, however often its program begins anew.

use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use serde_json::json;
use tool_api::{Context, Progress, STDERR_LOGGER, Secrets};

use crate::made::{self, Made};

/// The longest line. A program that has more to say prints it.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// What is printed on stderr is passed on in whole lines, so that no secret is cut in two; a longer line in pieces of this
/// length.
const PRINTED_BYTES_MAX: usize = 16 * 1024;

/// What a line says.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    /// How far it has come.
    Progress { done: f64, total: Option<f64>, message: Option<String> },
    /// A piece of what it would print for a person who watches.
    Output { chunk: String },
    /// Something that is kept.
    Artifact(made::Told),
}

/// How far a call has come.
pub(crate) struct Meter<'c> {
    cx: &'c Context,
    tool: &'c str,
    at: Mutex<At>,
}

#[derive(Default)]
struct At {
    /// What was told last.
    last: f64,
    /// Where the present attempt began.
    began: f64,
}

/// The lines of one run.
pub(crate) struct Told<'m> {
    meter: &'m Meter<'m>,
    made: Made<'m>,
    line: Vec<u8>,
    is_too_long: bool,
    /// The line of stderr that has not ended yet.
    printed: Vec<u8>,
}

impl<'c> Meter<'c> {
    pub(crate) fn new(cx: &'c Context, tool: &'c str) -> Meter<'c> {
        Meter { cx, tool, at: Mutex::default() }
    }

    /// Tells that something begins anew.
    pub(crate) fn begin_again(&self, message: String) {
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        let done = at.last + 1.0;
        *at = At { last: done, began: done };
        self.cx.report(Progress::Step { done, total: None, message: Some(message) });
    }

    fn step(&self, done: f64, total: Option<f64>, message: Option<String>) {
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        let (done, total) = (at.began + done, total.map(|total| at.began + total));
        // Each report of a call says more than the one before (MCP, "progress").
        if done.is_finite() && done > at.last {
            at.last = done;
            self.cx.report(Progress::Step { done, total, message });
        }
    }

    fn output(&self, level: &str, stream: &str, text: &str) {
        let logger = format!("{}{stream}", self.tool);
        let params = json!({ "level": level, "logger": logger, "data": text });
        self.cx.log(params.to_string().into());
    }
}

impl<'m> Told<'m> {
    /// Of a run that may see the workspace.
    pub(crate) fn by(meter: &'m Meter<'m>, sees_workspace: bool) -> Told<'m> {
        let (line, printed) = (Vec::new(), Vec::new());
        Told { meter, made: Made::by(meter.cx, sees_workspace), line, is_too_long: false, printed }
    }

    /// What is kept from the caller.
    pub(crate) fn secrets(&self) -> Option<&'m dyn Secrets> {
        self.meter.cx.secrets.as_deref()
    }

    /// Takes a piece of descriptor 3. A line that says nothing of the kind is passed over: it is no part of the result.
    pub(crate) async fn take(&mut self, mut piece: &[u8]) {
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            self.keep(&piece[..end]);
            if !self.is_too_long
                && let Ok(line) = serde_json::from_slice(&self.line)
            {
                self.tell(line).await;
            }
            (self.is_too_long, piece) = (false, &piece[end + 1..]);
            self.line.clear();
        }
        self.keep(piece);
    }

    async fn tell(&mut self, line: Line) {
        match line {
            Line::Progress { done, total, message } => self.meter.step(done, total, message),
            Line::Output { chunk } => {
                self.meter.output("info", "", &chunk);
                self.made.output(chunk.as_bytes()).await;
            }
            Line::Artifact(told) => self.made.tell(told).await,
        }
    }

    /// Takes a piece of stderr.
    pub(crate) async fn print(&mut self, piece: &[u8]) {
        self.made.output(piece).await;
        if self.meter.cx.listener.is_none() {
            return;
        }
        self.printed.extend_from_slice(piece);
        let whole = self.printed.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let is_long = self.printed.len() - whole > PRINTED_BYTES_MAX;
        self.pass_on(if is_long { whole_characters(&self.printed) } else { whole });
    }

    fn pass_on(&mut self, bytes: usize) {
        let rest = self.printed.split_off(bytes);
        let lines = std::mem::replace(&mut self.printed, rest);
        if !lines.is_empty() {
            self.meter.output("debug", STDERR_LOGGER, &String::from_utf8_lossy(&lines));
        }
    }

    /// Keeps what the program has printed on stdout, which is no result.
    pub(crate) async fn keep_whole(&mut self, stdout: Vec<u8>) {
        self.made.keep_whole(stdout).await;
    }

    /// The program has ended. Gives what it has made.
    pub(crate) async fn end(mut self) -> Made<'m> {
        self.pass_on(self.printed.len());
        self.made.end().await;
        self.made
    }

    fn keep(&mut self, piece: &[u8]) {
        self.is_too_long |= self.line.len() + piece.len() > LINE_BYTES_MAX;
        if !self.is_too_long {
            self.line.extend_from_slice(piece);
        }
    }
}

/// How many bytes there are without a character at the end of which only a part has come.
fn whole_characters(bytes: &[u8]) -> usize {
    match bytes.utf8_chunks().last().map(|last| last.invalid()) {
        // What can still become a character is one to three bytes, of which none is wrong.
        Some(rest) if std::str::from_utf8(rest).is_err_and(|error| error.error_len().is_none()) => {
            bytes.len() - rest.len()
        }
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_that_has_not_come_whole_waits_for_its_rest() {
        for (bytes, whole) in [
            ("aé".as_bytes(), 3),
            (&"aé".as_bytes()[..2], 1),
            (&"a😀".as_bytes()[..4], 1),
            (b"a\xff", 2),
            (b"\xffa", 2),
            (b"\xe2\x82", 0),
            (b"", 0),
        ] {
            assert_eq!(whole_characters(bytes), whole, "{bytes:?}");
        }
    }
}

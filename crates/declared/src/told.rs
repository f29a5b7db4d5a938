//! `Told`: what a program tells while it runs, as lines of JSON on its descriptor 3, passed on to whoever listens. `Meter`: how far
//! the call has come, which only grows, however often its program begins anew.

use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use serde_json::json;
use tool_api::{Context, Progress};

/// The longest line. A program that has more to say prints it.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// What a line says.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    /// How far it has come.
    Progress { done: f64, total: Option<f64>, message: Option<String> },
    /// A piece of what it would print for a person who watches.
    Output { chunk: String },
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
    line: Vec<u8>,
    is_too_long: bool,
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

    fn tell(&self, line: Line) {
        match line {
            Line::Progress { done, total, message } => {
                let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
                let (done, total) = (at.began + done, total.map(|total| at.began + total));
                // Each report of a call says more than the one before (MCP, "progress").
                if done.is_finite() && done > at.last {
                    at.last = done;
                    self.cx.report(Progress::Step { done, total, message });
                }
            }
            Line::Output { chunk } => {
                let params = json!({ "level": "info", "logger": self.tool, "data": chunk });
                self.cx.log(params.to_string().into());
            }
        }
    }
}

impl<'m> Told<'m> {
    pub(crate) fn by(meter: &'m Meter<'m>) -> Told<'m> {
        Told { meter, line: Vec::new(), is_too_long: false }
    }

    /// Takes a piece. A line that says nothing of the kind is passed over: it is no part of the result.
    pub(crate) fn take(&mut self, mut piece: &[u8]) {
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            self.keep(&piece[..end]);
            if !self.is_too_long
                && let Ok(line) = serde_json::from_slice(&self.line)
            {
                self.meter.tell(line);
            }
            (self.is_too_long, piece) = (false, &piece[end + 1..]);
            self.line.clear();
        }
        self.keep(piece);
    }

    fn keep(&mut self, piece: &[u8]) {
        self.is_too_long |= self.line.len() + piece.len() > LINE_BYTES_MAX;
        if !self.is_too_long {
            self.line.extend_from_slice(piece);
        }
    }
}

//! `Teller`: tells whoever listens what a command prints while it runs, in whole lines, and now and then how far it is.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use tool_api::{Context, Progress};

/// A longer line is passed on in pieces of this length.
const LINE_BYTES_MAX: usize = 16 * 1024;

/// Lines are gathered for so long: a listener of many small pieces keeps fewer of them.
const GATHER: Duration = Duration::from_millis(100);

/// What of a line is told as progress.
const PROGRESS_CHARS_MAX: usize = 200;

/// How far a command is.
pub(super) struct Teller<'c> {
    cx: &'c Context,
    tool: &'static str,
    began: Instant,
    told: Instant,
    /// What has not been told yet.
    waiting: String,
    last_line: String,
    /// What may still be told. Whoever wants more of it has the artifact.
    bytes_left: u64,
}

impl<'c> Teller<'c> {
    pub(super) fn new(cx: &'c Context, tool: &'static str, bytes_max: u64) -> Teller<'c> {
        let (began, waiting, last_line) = (Instant::now(), String::new(), String::new());
        Teller { cx, tool, began, told: began, waiting, last_line, bytes_left: bytes_max }
    }

    /// How long it runs.
    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Takes the next piece.
    pub(super) fn take(&mut self, text: &str) {
        if self.cx.listener.is_none() {
            return;
        }
        if let Some(line) = text.lines().rev().find(|line| !line.trim().is_empty()) {
            self.last_line = line.chars().take(PROGRESS_CHARS_MAX).collect();
        }
        let text = &text[..text.floor_char_boundary(usize::try_from(self.bytes_left).unwrap_or(usize::MAX))];
        self.bytes_left -= text.len() as u64;
        self.waiting.push_str(text);
        if self.waiting.len() > LINE_BYTES_MAX || self.told.elapsed() >= GATHER {
            self.pass_on();
        }
    }

    /// Passes on the lines that have ended.
    pub(super) fn pass_on(&mut self) {
        self.told = Instant::now();
        let whole = self.waiting.rfind('\n').map_or(0, |end| end + 1);
        let is_long = self.waiting.len() - whole > LINE_BYTES_MAX;
        self.log(if is_long { self.waiting.len() } else { whole });
    }

    fn log(&mut self, bytes: usize) {
        let rest = self.waiting.split_off(bytes);
        let lines = std::mem::replace(&mut self.waiting, rest);
        if !lines.is_empty() {
            let params = json!({ "level": "debug", "logger": self.tool, "data": lines });
            self.cx.log(params.to_string().into());
        }
    }

    /// Tells that it still runs, and what it said last.
    pub(super) fn still_runs(&mut self) {
        self.pass_on();
        let message = Some(self.last_line.clone()).filter(|line| !line.is_empty());
        self.step(message);
    }

    /// Tells how it has ended, and what is left of its last line.
    pub(super) fn end(mut self, how: &str) {
        self.log(self.waiting.len());
        self.step(Some(how.to_owned()));
    }

    fn step(&self, message: Option<String>) {
        self.cx.report(Progress::Step { done: self.elapsed().as_secs_f64(), total: None, message });
    }
}

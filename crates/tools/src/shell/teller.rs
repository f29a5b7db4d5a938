//! `Teller`: tells whoever listens what a command prints while it runs, in whole lines, and now and then how far it is.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use tool_api::{Context, Progress};

/// A longer line is passed on in pieces of this length.
const LINE_BYTES_MAX: usize = 16 * 1024;

/// Lines are gathered for so long: a listener of many small pieces keeps fewer of them.
const GATHER: Duration = Duration::from_millis(100);

/// Between these a block of several lines stands that may be one secret (RFC 7468).
const BLOCK_BEGINS: &str = "-----BEGIN ";
const BLOCK_ENDS: &str = "-----END ";

/// What ends a line, or the state of one that is written over.
const ENDS_LINE: [char; 2] = ['\n', '\r'];

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
    /// Whether nothing has come since it was last quiet.
    is_quiet: bool,
    last_line: String,
    /// What may still be told. Whoever wants more of it has the artifact.
    bytes_left: u64,
}

impl<'c> Teller<'c> {
    pub(super) fn new(cx: &'c Context, tool: &'static str, bytes_max: u64) -> Teller<'c> {
        let (began, waiting, last_line) = (Instant::now(), String::new(), String::new());
        Teller { cx, tool, began, told: began, waiting, is_quiet: false, last_line, bytes_left: bytes_max }
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
        let (text, left) = within(text, self.bytes_left);
        self.bytes_left = left;
        self.is_quiet = false;
        self.waiting.push_str(text);
        if self.waiting.len() > LINE_BYTES_MAX || self.told.elapsed() >= GATHER {
            self.pass_on();
        }
    }

    /// Passes on the lines that have ended.
    fn pass_on(&mut self) {
        self.told = Instant::now();
        self.log(passed(&self.waiting));
    }

    /// Nothing more has come for a while. Of a program that can be typed to, a line that has not ended may be a prompt.
    pub(super) fn quiet(&mut self, may_prompt: bool) {
        self.pass_on();
        if may_prompt {
            self.log(prompt(&self.waiting));
        }
        self.is_quiet = true;
    }

    /// Whether there is nothing that [`Teller::quiet`] could pass on.
    pub(super) fn has_told(&self) -> bool {
        self.is_quiet || self.waiting.is_empty()
    }

    fn log(&mut self, bytes: usize) {
        let rest = self.waiting.split_off(bytes);
        let lines = std::mem::replace(&mut self.waiting, rest);
        if !lines.is_empty() {
            if let Some(line) = lines.rsplit(ENDS_LINE).find(|line| !line.trim().is_empty()) {
                self.last_line = beginning(line);
            }
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

/// What of a text may still be told, and how much may be told then. What is cut in the middle of a line may be half a secret.
fn within(text: &str, left: u64) -> (&str, u64) {
    match usize::try_from(left) {
        Ok(most) if most < text.len() => {
            let most = text.floor_char_boundary(most);
            (&text[..text[..most].rfind(ENDS_LINE).map_or(0, |end| end + 1)], 0)
        }
        _ => (text, left - text.len() as u64),
    }
}

/// How much of what waits is passed on: whole lines, but for a line that is too long. What is struck out is looked for in each
/// message by itself, so a block such as a private key waits for its end, as far as there is room.
fn passed(waiting: &str) -> usize {
    let whole = waiting.rfind(ENDS_LINE).map_or(0, |end| end + 1);
    let open =
        waiting[..whole].rfind(BLOCK_BEGINS).filter(|begin| !waiting[*begin..whole].contains(BLOCK_ENDS));
    if let Some(begin) = open.filter(|begin| waiting.len() - begin <= LINE_BYTES_MAX) {
        return waiting[..begin].rfind(ENDS_LINE).map_or(0, |end| end + 1);
    }
    if waiting.len() - whole <= LINE_BYTES_MAX {
        return whole;
    }
    // Between two words, so that no half of one is passed on.
    waiting.rfind(char::is_whitespace).map_or(waiting.len(), |space| space + 1).max(whole)
}

/// How much of what waits is passed on as a prompt: all of it, unless a block has begun.
fn prompt(waiting: &str) -> usize {
    if waiting.contains(BLOCK_BEGINS) { 0 } else { waiting.len() }
}

/// As much of a line as is told as progress: whole words.
fn beginning(line: &str) -> String {
    let Some((most, _)) = line.char_indices().nth(PROGRESS_CHARS_MAX) else { return line.to_owned() };
    let words = line[..most].rfind(char::is_whitespace).unwrap_or(0);
    format!("{}…", &line[..words])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_part_of_a_secret_waits() {
        let key = "a\n-----BEGIN PRIVATE KEY-----\nMIIE\n";
        let (long, words) = ("x".repeat(LINE_BYTES_MAX + 1), format!("{} tail", "x".repeat(LINE_BYTES_MAX)));
        for (waiting, expected) in [
            ("", 0),
            ("half", 0),
            ("one\nhalf", 4),
            ("10%\r20%\rhalf", 8),
            (key, 2),
            (&format!("{key}-----END PRIVATE KEY-----\n"), key.len() + 26),
            (&format!("{key}{}\n", "y".repeat(LINE_BYTES_MAX)), key.len() + LINE_BYTES_MAX + 1),
            (&long, long.len()),
            (&words, LINE_BYTES_MAX + 1),
        ] {
            assert_eq!(passed(waiting), expected, "{} bytes", waiting.len());
        }
    }

    #[test]
    fn a_prompt_is_passed_on_and_no_block_that_has_begun() {
        assert_eq!((prompt(">>> "), prompt("")), (4, 0));
        assert_eq!(prompt("-----BEGIN PRIVATE KEY-----\nMI"), 0);
    }

    #[test]
    fn what_is_too_much_is_cut_between_two_lines() {
        assert_eq!(within("one\ntwo", 7), ("one\ntwo", 0));
        assert_eq!(within("one\ntwo", 6), ("one\n", 0));
        assert_eq!(within("é", 1), ("", 0));
        assert_eq!(within("", 5), ("", 5));
    }

    #[test]
    fn progress_is_told_in_whole_words() {
        let word = "y".repeat(150);
        for (line, expected) in [
            ("a b", "a b".to_owned()),
            (&format!("{word} {word}"), format!("{word}…")),
            (&"z".repeat(300), "…".to_owned()),
        ] {
            assert_eq!(beginning(line), expected);
        }
    }
}

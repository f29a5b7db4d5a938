//! The log: lines on stderr, as text or JSON. What is worth a line is each crate's own affair.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;

use config::log::{Config, Format, Level};
use redact::Redactor;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sandbox::is_hidden;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// What a pipe takes at once if it is ready to take anything: the system's `PIPE_BUF`, in bytes.
const READY_BYTES: usize = 4096;

/// TOOLCRIB_LOG cannot be understood.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "TOOLCRIB_LOG must be a level (off, error, warn, info, debug, trace), or a list such as info,upstream=debug"
)]
pub struct BadFilter;

/// Where lines go, which are without secrets. Must not wait.
pub type Sink = Box<dyn Fn(&str) + Send + Sync>;

/// Starts the log for the whole process. What `redactor` knows is struck out of every line.
///
/// # Errors
/// If `overriding`, the text of TOOLCRIB_LOG, is no filter.
pub fn start(
    config: &Config,
    overriding: Option<&str>,
    redactor: &Redactor,
    sink: Sink,
) -> Result<(), BadFilter> {
    let filter = filter(config.level, overriding)?;
    let clean = Clean { redactor: redactor.clone(), format: config.format, sink };
    let builder =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(Arc::new(clean));
    match config.format {
        Format::Text => builder.finish().with(filter).init(),
        Format::Json => builder.json().finish().with(filter).init(),
    }
    // What a panic says may quote what it stumbled over, such as an argument; where it was is enough.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "a defect of ours: the program panicked");
    }));
    Ok(())
}

fn filter(level: Level, overriding: Option<&str>) -> Result<Targets, BadFilter> {
    match overriding {
        Some(text) if !text.is_empty() => parse(text).ok_or(BadFilter),
        _ => Ok(Targets::new().with_default(level_filter(level))),
    }
}

fn parse(text: &str) -> Option<Targets> {
    // A lone word would be taken for a part of the program; here it is a misspelt level.
    let is_clear = |part: &str| part.contains('=') || part.trim().parse::<LevelFilter>().is_ok();
    text.split(',').all(is_clear).then(|| text.parse().ok()).flatten()
}

fn level_filter(level: Level) -> LevelFilter {
    match level {
        Level::Off => LevelFilter::OFF,
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    }
}

/// Writes a line to the process's stderr, without waiting: a client that starts us and never reads our stderr must not be
/// able to stop us. What would block is dropped.
pub fn to_stderr(line: &str) {
    if is_ready() {
        // With stderr gone, or full, there is nobody to tell.
        let _ = io::stderr().write(&line.as_bytes()[..line.len().min(READY_BYTES)]);
    }
}

impl Write for &Clean {
    /// Takes a whole line.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.sink)(&self.line(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What becomes of a line before anybody reads it.
struct Clean {
    redactor: Redactor,
    format: Format,
    sink: Sink,
}

impl Clean {
    /// The line without secrets, and as one line without what drives a terminal or cannot be seen: whoever's words are in
    /// it must not write another one.
    fn line(&self, bytes: &[u8]) -> String {
        let written = String::from_utf8_lossy(bytes);
        let struck = match self.format {
            Format::Text => self.redactor.text(&written),
            Format::Json => match self.redactor.json(bytes) {
                Some(struck) => Cow::Owned(String::from_utf8_lossy(&struck.bytes).into_owned()),
                None => written,
            },
        };
        let mut line = String::with_capacity(struck.len() + 1);
        for character in struck.trim_end_matches('\n').chars() {
            match character {
                // No such character stands in JSON but within a string.
                hidden if is_hidden(hidden) => self.escape(hidden, &mut line),
                shown => line.push(shown),
            }
        }
        line.push('\n');
        line
    }

    fn escape(&self, hidden: char, line: &mut String) {
        match self.format {
            Format::Text => line.extend(hidden.escape_default()),
            Format::Json => {
                let mut units = [0; 2];
                hidden.encode_utf16(&mut units).iter().for_each(|unit| {
                    write!(line, "\\u{unit:04x}").expect("writing to a string cannot fail");
                });
            }
        }
    }
}

fn is_ready() -> bool {
    let stderr = io::stderr();
    let mut wanted = [PollFd::new(&stderr, PollFlags::OUT)];
    matches!(poll(&mut wanted, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(1))
}

#[cfg(test)]
mod tests {
    use tracing::Level as At;

    use super::*;

    #[track_caller]
    fn check(level: Level, overriding: Option<&str>, logged: &[(&str, At, bool)]) {
        let filter = filter(level, overriding).expect("a filter");
        for (target, at, expected) in logged {
            assert_eq!(filter.would_enable(target, at), *expected, "{level:?} {overriding:?} {target} {at}");
        }
    }

    #[test]
    fn the_variable_overrides_the_level() {
        check(Level::Info, None, &[("gate", At::INFO, true), ("gate", At::DEBUG, false)]);
        check(Level::Off, Some(""), &[("gate", At::ERROR, false)]);
        check(Level::Info, Some("debug"), &[("gate", At::DEBUG, true), ("gate", At::TRACE, false)]);
        let parts = "warn,upstream=trace";
        check(Level::Info, Some(parts), &[("gate", At::INFO, false), ("upstream::client", At::TRACE, true)]);
        for unclear in ["loud", "info,upstream", "upstream=loud"] {
            assert_eq!(filter(Level::Info, Some(unclear)).err(), Some(BadFilter), "{unclear}");
        }
    }

    #[test]
    fn a_line_is_one_line_without_secrets_and_tricks() {
        let redactor = Redactor::new(&redact::Config { patterns: false, ..redact::Config::default() });
        redactor.know("store", vec![config::known("KEY", "planted-s3cret")]);
        let text = Clean { redactor: redactor.clone(), format: Format::Text, sink: Box::new(to_stderr) };
        let said = "INFO why=bad planted-s3cret\n2026 ERROR forged\u{1b}[2J\u{9b}m\u{202e}\tx\n";
        let expected = "INFO why=bad [REDACTED:KEY]\\n2026 ERROR forged\\u{1b}[2J\\u{9b}m\\u{202e}\\tx\n";
        assert_eq!(text.line(said.as_bytes()), expected);

        let json = Clean { redactor, format: Format::Json, sink: Box::new(to_stderr) };
        let said = serde_json::json!({ "why": "planted-s3cret\n\u{9b}\u{202e}\u{e0041}" }).to_string() + "\n";
        let line = json.line(said.as_bytes());
        assert_eq!(line, "{\"why\":\"[REDACTED:KEY]\\n\\u009b\\u202e\\udb40\\udc41\"}\n");
        let read: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(read["why"], "[REDACTED:KEY]\n\u{9b}\u{202e}\u{e0041}");
    }
}

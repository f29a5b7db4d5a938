//! `artifact_search`: the lines of an artifact that a regular expression finds something in.

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::time::Duration;

use regex::bytes::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use tool_api::{
    ARTIFACT_SEARCH, About, ArgumentRoles, ArtifactReader, Block, Cancel, Context, Document, Effect, Example,
    Need, Tool, ToolError,
};

use super::blocks::Blocks;
use super::opened::opened;
use crate::plain_schema::plain;

/// Lines found, unless the call says how many.
const MATCHES: u16 = 50;

/// The most that a call can ask for.
const MATCHES_MAX: u16 = 500;

/// The most lines before and after each.
const CONTEXT_MAX: u8 = 20;

/// Longest part of a line that is shown, in bytes.
const SHOWN_BYTES_MAX: usize = 500;

/// A line that is longer is searched in pieces of this.
const LINE_BYTES_MAX: usize = 1024 * 1024;

/// What an expression may take in memory, in bytes. Each takes time in proportion to the text, whatever it says.
const EXPRESSION_BYTES_MAX: usize = 1024 * 1024;

/// Searches an artifact.
#[derive(Debug)]
pub(crate) struct Search {
    /// Text in one answer.
    pub(crate) text_bytes_max: usize,
}

/// The arguments of `artifact_search`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// The artifact, as the answer says that has made it.
    id: String,
    /// A regular expression that a line must have a match of; without look-around and back-references.
    pattern: String,
    /// Take small letters for capitals.
    #[serde(default)]
    ignore_case: bool,
    /// How many lines to show before and after each that matches. Default: 0.
    #[serde(default)]
    #[schemars(range(max = CONTEXT_MAX))]
    context: u8,
    /// How many lines to find at most. Default: 50.
    #[serde(default = "matches")]
    #[schemars(range(min = 1, max = MATCHES_MAX))]
    limit: u16,
    /// The first line to search, counted from 1. For going on, as the end of an answer says.
    #[serde(default = "first_line")]
    line: NonZeroU64,
}

fn matches() -> u16 {
    MATCHES
}

fn first_line() -> NonZeroU64 {
    NonZeroU64::MIN
}

impl Tool for Search {
    const ABOUT: About = About {
        name: ARTIFACT_SEARCH,
        title: "Search an artifact",
        summary: "Find lines in a result that was too large for one answer and is kept as an artifact, by a regular \
                  expression. Shows each line with its number, and lines around it (`context`); the end of the answer \
                  says how to go on. artifact_read shows what stands there (`line`).",
        effect: Effect::Reads,
        arguments: ArgumentRoles::NONE,
        // A caller's own artifacts are results that it was given.
        scopes: &[],
        needs: &[Need::Artifacts],
        idempotent: true,
        open_world: false,
        timeout: Duration::from_secs(60),
        examples: &[Example {
            title: "Errors in a log",
            arguments: r#"{"id": "0123456789abcdef0123456789abcdef", "pattern": "(?i)error|warning", "context": 2}"#,
        }],
    };
    type Input = Input;
    type Output = Document;

    async fn run(&self, input: Input, cx: &Context) -> Result<Document, ToolError> {
        let regex = RegexBuilder::new(&input.pattern)
            .case_insensitive(input.ignore_case)
            .size_limit(EXPRESSION_BYTES_MAX)
            .dfa_size_limit(EXPRESSION_BYTES_MAX)
            .build()
            .map_err(|error| {
                ToolError::new("invalid_pattern", format!("`pattern` cannot be used: {error}"))
            })?;
        let reader = opened(&input.id, cx).await?;
        if !reader.artifact().is_text() {
            let message = format!("the artifact is no text but {}", reader.artifact().media_type);
            return Err(ToolError::new("not_text", message));
        }
        let (cancel, text_bytes_max) = (cx.cancel.clone(), self.text_bytes_max);
        cx.blocking(move || Finding::new(&input, regex, text_bytes_max).search(&*reader, &cancel)).await
    }
}

/// A search on its way.
struct Finding {
    regex: Regex,
    first: u64,
    limit: u16,
    context: usize,
    text_bytes_max: usize,
    found: u16,
    shown: String,
    /// The last line that is shown.
    shown_to: u64,
    /// Lines before this one, for context.
    before: VecDeque<(u64, String)>,
    /// How many lines behind the last match are still shown.
    after: usize,
}

impl Finding {
    fn new(input: &Input, regex: Regex, text_bytes_max: usize) -> Finding {
        Finding {
            regex,
            first: input.line.get(),
            limit: input.limit,
            context: input.context.into(),
            text_bytes_max,
            found: 0,
            shown: String::new(),
            shown_to: 0,
            before: VecDeque::new(),
            after: 0,
        }
    }

    fn search(mut self, reader: &dyn ArtifactReader, cancel: &Cancel) -> Result<Document, ToolError> {
        let mut blocks = Blocks::of(reader, cancel);
        let (mut offset, mut number) = (blocks.line(self.first)?, self.first);
        let mut line = Vec::new();
        let goes_on = 'all: loop {
            let block = blocks.at(offset)?;
            if block.is_empty() {
                let is_shown = line.is_empty() || self.take(number, &line);
                break (!is_shown).then_some(number);
            }
            let mut start = 0;
            for end in memchr::memchr_iter(b'\n', block) {
                line.extend_from_slice(&block[start..end]);
                if !self.take(number, &line) {
                    break 'all Some(number);
                }
                line.clear();
                (start, number) = (end + 1, number + 1);
            }
            line.extend_from_slice(&block[start..]);
            if line.len() >= LINE_BYTES_MAX {
                if !self.take(number, &line) {
                    break Some(number);
                }
                line.clear();
            }
            offset += block.len() as u64;
        };
        let lines = reader.artifact().lines;
        Ok(Document(vec![Block::Text(self.answer(goes_on, lines, &reader.artifact().id))]))
    }

    /// Looks at a line. False if there is no room for it any more.
    fn take(&mut self, number: u64, line: &[u8]) -> bool {
        let Some(found) = self.regex.find(line) else {
            if self.after > 0 {
                self.after -= 1;
                self.show(number, '-', &shown(line, 0));
            } else if self.context > 0 {
                self.before.push_back((number, shown(line, 0)));
                if self.before.len() > self.context {
                    self.before.pop_front();
                }
            }
            return true;
        };
        if self.found >= self.limit || self.shown.len() >= self.text_bytes_max {
            return false;
        }
        let from = self.before.front().map_or(number, |(first, _)| *first);
        if self.context > 0 && self.shown_to > 0 && from > self.shown_to + 1 {
            self.shown.push_str("--\n");
        }
        for (number, line) in std::mem::take(&mut self.before) {
            self.show(number, '-', &line);
        }
        self.show(number, ':', &shown(line, found.start()));
        self.found += 1;
        self.after = self.context;
        true
    }

    fn show(&mut self, number: u64, sign: char, line: &str) {
        self.shown.push_str(&format!("{number}{sign}{line}\n"));
        self.shown_to = number;
    }

    fn answer(self, goes_on: Option<u64>, lines: u64, id: &str) -> String {
        let mark = match goes_on {
            Some(line) => format!(
                "[{} lines match before line {line} of {lines}. To go on, call {ARTIFACT_SEARCH} with id: \"{id}\", line: \
                 {line}.]",
                self.found
            ),
            None => format!("[{} lines match, and there are no more of {lines}.]", self.found),
        };
        format!("{}{mark}", self.shown)
    }
}

/// As much of a line as is shown, with what stands at `at` in it.
fn shown(line: &[u8], at: usize) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let from = match line.len() > SHOWN_BYTES_MAX {
        true => at.saturating_sub(SHOWN_BYTES_MAX / 2),
        false => 0,
    };
    let part = &line[from.min(line.len())..line.len().min(from + SHOWN_BYTES_MAX)];
    let (before, after) = (from > 0, from + part.len() < line.len());
    let sign = |is_cut: bool| if is_cut { "…" } else { "" };
    format!("{}{}{}", sign(before), String::from_utf8_lossy(part), sign(after))
}

#[cfg(test)]
mod tests;

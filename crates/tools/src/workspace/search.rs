//! `workspace_search`: the lines of the workspace's files that a regular expression finds something in. One file is left to
//! `in_file`, many at once to `in_files`, what is said to `answer`.
//!
//! The engine is ripgrep's own, `grep-regex` and `grep-searcher`, over handles of the sandbox: it takes time in proportion to
//! the text, whatever the expression says, keeps to lines, and leaves binary files out by itself.

mod answer;
mod asked;
mod in_file;
mod in_files;

use std::time::Duration;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use tool_api::{About, ArgumentRoles, Block, Context, Document, Effect, Example, Tool, ToolError};

use super::file_error::refused;
use super::name_filter::NameFilter;
use super::near_paths::or_nearest;
use crate::plain_schema::plain;
use asked::{Asked, Mode};

/// Lines, or files, found unless the call says how many.
const LIMIT: u16 = 200;

/// The most that a call can ask for.
const LIMIT_MAX: u16 = 2_000;

/// The most lines before and after each.
const CONTEXT_MAX: u8 = 20;

/// The longest expression, in bytes.
const PATTERN_BYTES_MAX: usize = 8 * 1024;

/// What an expression may take in memory, in bytes, for each of its two forms.
const COMPILED_BYTES_MAX: usize = 10 * 1024 * 1024;

/// Searches files.
#[derive(Debug)]
pub(crate) struct Search {
    /// Text in one answer.
    pub(crate) text_bytes_max: usize,
}

/// The arguments of `workspace_search`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// A regular expression for one line, without look-around and back-references.
    pattern: String,
    /// A folder or file. Default: the whole workspace.
    #[serde(default)]
    path: String,
    /// Only these files, for example `*.rs`, or `src/**/*.rs` below `path`.
    glob: Option<String>,
    /// Take the pattern as plain text.
    #[serde(default)]
    literal: bool,
    /// Take small letters for capitals.
    #[serde(default)]
    ignore_case: bool,
    /// `lines` shows them, `files` names files only, `counts` says how many lines match in each.
    #[serde(default)]
    mode: Mode,
    /// Lines to show before and after each.
    #[serde(default)]
    #[schemars(range(max = CONTEXT_MAX))]
    context: u8,
    /// Also search what ignore files leave out.
    #[serde(default)]
    ignored: bool,
    /// How many lines, or files, to find at most.
    #[serde(default = "limit")]
    #[schemars(range(min = 1, max = LIMIT_MAX))]
    limit: u16,
    /// Go on after this file, as the end of an answer says.
    after: Option<String>,
    /// Go on in that file, after this line.
    after_line: Option<u64>,
}

fn limit() -> u16 {
    LIMIT
}

impl Tool for Search {
    const ABOUT: About = About {
        name: "workspace_search",
        title: "Search in files",
        summary: "Find lines in files by a regular expression, in all folders below `path` but `.git` and what ignore \
                  files leave out. Shows file and line numbers; binary files are left out, long lines cut. The end of \
                  the answer says how to go on.",
        effect: Effect::Reads,
        arguments: ArgumentRoles { paths: &["path", "glob", "after"], ..ArgumentRoles::NONE },
        scopes: &["read_workspace"],
        needs: &[],
        idempotent: true,
        open_world: false,
        timeout: Duration::from_secs(60),
        examples: &[
            Example {
                title: "A function and its surroundings",
                arguments: r#"{"pattern": "fn main\\(", "glob": "*.rs", "context": 2}"#,
            },
            Example {
                title: "Which files",
                arguments: r#"{"pattern": "line", "path": "src", "mode": "files"}"#,
            },
        ],
    };
    type Input = Input;
    // No structure beside it: clients that show a model both would show it everything twice.
    type Output = Document;

    async fn run(&self, input: Input, cx: &Context) -> Result<Document, ToolError> {
        let start = cx.files.locate(&input.path).map_err(refused)?;
        let asked = Asked {
            start: start.clone(),
            filter: NameFilter::new(input.glob.as_deref())?,
            matcher: matcher(&input)?,
            mode: input.mode,
            context: input.context.min(CONTEXT_MAX).into(),
            ignored: input.ignored,
            limit: input.limit.clamp(1, LIMIT_MAX).into(),
            after: input.after.as_deref().map(|after| cx.files.locate(after)).transpose().map_err(refused)?,
            after_line: input.after_line,
            text_bytes_max: self.text_bytes_max,
            secrets: cx.secrets.clone(),
        };
        let (files, cancel, rules) = (cx.files.clone(), cx.cancel.clone(), cx.path_rules.clone());
        let answer = cx.blocking(move || in_files::search(&asked, &files, rules.as_deref(), &cancel)).await;
        Ok(Document(vec![Block::Text(or_nearest(answer, &start, cx).await?)]))
    }
}

fn matcher(input: &Input) -> Result<RegexMatcher, ToolError> {
    let unusable =
        |why: String| ToolError::new("invalid_pattern", format!("`pattern` cannot be used: {why}"));
    if input.pattern.len() > PATTERN_BYTES_MAX {
        return Err(unusable(format!("it has more than {PATTERN_BYTES_MAX} bytes")));
    }
    RegexMatcherBuilder::new()
        .multi_line(true)
        .case_insensitive(input.ignore_case)
        .fixed_strings(input.literal)
        .line_terminator(Some(b'\n'))
        .size_limit(COMPILED_BYTES_MAX)
        .dfa_size_limit(COMPILED_BYTES_MAX)
        .build(&input.pattern)
        .map_err(|error| unusable(with_hint(&error.to_string())))
}

/// What is wrong with a pattern, and what to try.
fn with_hint(why: &str) -> String {
    let hint = match () {
        () if why.contains("is not allowed in a regex") => {
            "; each line is searched by itself, so search for a part of one"
        }
        () if why.contains("not supported") => {
            "; search for a plainer pattern, and look through what it finds"
        }
        () if why.contains("exceeds size limit") => "; repeat less in it",
        () => "; to find the text as it stands, say `literal`: true",
    };
    format!("{why}{hint}")
}

#[cfg(test)]
mod tests;

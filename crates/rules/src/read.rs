//! A rules file becomes rules, or everything that is wrong with it, each with its place.

mod action;
mod reader;

use std::sync::Arc;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex::RegexBuilder;

use crate::names::Content;
use crate::node::{self, Form, Node, Place, Written};
use crate::patterns::{PathPatterns, Reading};
use crate::rule::{Category, Matches, Mode, Rule};
use crate::workspace::Workspace;
pub use reader::Problem;
use reader::{PATTERNS_MAX, Reader, Table};

/// The version of the form that is read here.
const VERSION: &str = "1.0";

/// Most rules in one file.
const RULES_MAX: usize = 1_000;

/// Longest id, in characters.
const ID_CHARS_MAX: usize = 100;

/// Largest content pattern once compiled, in bytes.
const REGEX_BYTES_MAX: usize = 1024 * 1024;

/// Most memory for the states that searching with one pattern makes, in bytes.
const REGEX_STATES_BYTES_MAX: usize = 2 * 1024 * 1024;

/// How deep the groups of a content pattern are nested at most.
const REGEX_NEST_MAX: u32 = 100;

/// Reads a text.
///
/// # Errors
/// Everything that is wrong with it, in the order of the text.
pub(crate) fn read(text: &str, form: Form, workspace: &Workspace) -> Result<Vec<Rule>, Vec<Problem>> {
    let node = node::read(text, form)
        .map_err(|fault| vec![Problem { place: Some(fault.place), what: fault.what }])?;
    let mut reader = Reader { workspace: workspace.clone(), problems: Vec::new() };
    let rules = file(&mut reader, &node);
    let mut problems = reader.problems;
    problems.sort_by_key(|problem| problem.place);
    if problems.is_empty() { Ok(rules) } else { Err(problems) }
}

fn file(reader: &mut Reader, node: &Node) -> Vec<Rule> {
    let known = ["version", "metadata", "mode", "rules"];
    let Some(table) = reader.table(node, "a rules file", &known) else { return Vec::new() };
    match table.get("version") {
        // YAML reads `1.0` without quotes as a number.
        Some(Node { written: Written::Text(text), .. }) if text == VERSION => {}
        Some(Node { written: Written::Number(number), .. }) if number.as_f64() == Some(1.0) => {}
        Some(other) => {
            reader.report(other.place, format!("version must be \"{VERSION}\", the only one there is"))
        }
        None => reader.report(node.place, format!("the file needs `version`: \"{VERSION}\"")),
    }
    if let Some(metadata) = table.get("metadata")
        && !matches!(metadata.written, Written::Table(_))
    {
        reader.report(metadata.place, format!("metadata must be an object, not {}", metadata.kind()));
    }
    let mode = table.get("mode").and_then(|node| reader.word(node, "mode")).unwrap_or_default();
    let Some(listed) = table.get("rules") else {
        reader.report(node.place, "the file needs `rules`, a list".to_owned());
        return Vec::new();
    };
    let Some(listed) = reader.list(listed, "rules", RULES_MAX) else { return Vec::new() };
    let mut rules: Vec<Rule> = Vec::with_capacity(listed.len());
    for node in listed {
        let Some(rule) = rule(reader, node, mode) else { continue };
        match rules.iter().find(|earlier| earlier.id == rule.id) {
            Some(earlier) => {
                let what = format!("the rule of line {} is called `{}`, too", earlier.place.line, rule.id);
                reader.report(node.place, what);
            }
            None => rules.push(rule),
        }
    }
    rules
}

fn rule(reader: &mut Reader, node: &Node, of_file: Mode) -> Option<Rule> {
    let known = ["id", "type", "description", "match", "action", "mode"];
    let table = reader.table(node, "a rule", &known)?;
    let id = needed(reader, (node, &table), "id", "an `id`, by which records name it");
    let id = id.and_then(|node| id_of(reader, node));
    let category: Option<Category> = table.get("type").and_then(|node| reader.word(node, "type"));
    let description =
        table.get("description").and_then(|node| reader.text(node, "description")).map(Arc::from);
    let about = needed(reader, (node, &table), "match", "`match`, which says what it is about");
    let matches = about.and_then(|node| matches(reader, node));
    let action = needed(reader, (node, &table), "action", "`action`, which says what happens");
    let action = action.and_then(|node| action::read(reader, node));
    let mode = table.get("mode").and_then(|node| reader.word(node, "mode")).unwrap_or(of_file);
    let (id, matches, action) = (id?, matches?, action?);
    Some(Rule { id, category, description, action, mode, place: node.place, matches })
}

/// A member that the rule of this node must have: `what` says so.
fn needed<'n>(
    reader: &mut Reader,
    (rule, table): (&Node, &Table<'n>),
    key: &str,
    what: &str,
) -> Option<&'n Node> {
    let found = table.get(key);
    if found.is_none() {
        reader.report(rule.place, format!("the rule needs {what}"));
    }
    found
}

fn id_of(reader: &mut Reader, node: &Node) -> Option<Arc<str>> {
    let text = reader.text(node, "id")?;
    let is_long = text.chars().count() > ID_CHARS_MAX;
    if is_long || text.trim().is_empty() || text.contains(char::is_control) {
        let what = format!("id must be 1 to {ID_CHARS_MAX} characters without control characters");
        reader.report(node.place, what);
    }
    Some(text.into())
}

fn matches(reader: &mut Reader, node: &Node) -> Option<Matches> {
    let known = ["paths", "content_regex", "projects", "tools", "upstreams", "file_types"];
    let table = reader.table(node, "match", &known)?;
    let paths = table.get("paths").and_then(|node| paths(reader, node));
    let mut globs = |key: &str| {
        let node = table.get(key)?;
        globs(reader, node, key)
    };
    let (projects, tools, upstreams) = (globs("projects"), globs("tools"), globs("upstreams"));
    let content = table.get("content_regex").and_then(|node| content(reader, node));
    let file_types = table.get("file_types").and_then(|node| {
        let types = reader.texts(node, "file_types", PATTERNS_MAX)?;
        Some(types.into_iter().filter_map(|(place, text)| file_type(reader, place, text)).collect())
    });
    // What is misspelt has been reported.
    if table.members().is_empty() {
        let what = "`match` is empty, so the rule would concern every call; if it is meant to, write `tools: [\"*\"]`";
        reader.report(node.place, what.to_owned());
    }
    Some(Matches { paths, content, projects, tools, upstreams, file_types })
}

fn paths(reader: &mut Reader, node: &Node) -> Option<PathPatterns> {
    let texts = reader.texts(node, "paths", PATTERNS_MAX)?;
    let mut reading = Reading::new();
    for (place, text) in texts {
        if let Err(what) = reading.add(text, &reader.workspace) {
            reader.report(place, what);
        }
    }
    let patterns = reading.end(&reader.workspace);
    patterns.map_err(|error| reader.report(node.place, format!("paths cannot be used: {error}"))).ok()
}

fn globs(reader: &mut Reader, node: &Node, key: &str) -> Option<GlobSet> {
    let texts = reader.texts(node, key, PATTERNS_MAX)?;
    let mut set = GlobSetBuilder::new();
    for (place, text) in texts {
        match GlobBuilder::new(text.trim()).literal_separator(false).build() {
            Ok(glob) => {
                set.add(glob);
            }
            Err(error) => reader.report(place, format!("{text:?} is no glob: {}", error.kind())),
        }
    }
    set.build().map_err(|error| reader.report(node.place, format!("{key} cannot be used: {error}"))).ok()
}

/// The end of a name without its dot, which many write as a pattern.
fn file_type(reader: &mut Reader, place: Place, text: &str) -> Option<Box<str>> {
    let end = text.trim();
    let end = end.strip_prefix("*.").unwrap_or(end).trim_start_matches('.');
    if end.is_empty() || end.contains(['*', '?', '[', ']', '{', '}', '/', '\\']) {
        let what = format!(
            "{text:?} is no type of files; write the end of their names (`pem`), and patterns in `paths`"
        );
        reader.report(place, what);
        return None;
    }
    Some(end.to_lowercase().into_boxed_str())
}

fn content(reader: &mut Reader, node: &Node) -> Option<Content> {
    let text = reader.text(node, "content_regex")?;
    let build = |pattern: &str| {
        RegexBuilder::new(pattern)
            .size_limit(REGEX_BYTES_MAX)
            .dfa_size_limit(REGEX_STATES_BYTES_MAX)
            .nest_limit(REGEX_NEST_MAX)
            .build()
    };
    let why = match Content::new(text, build) {
        Ok(content) if content.is_in("") => "it matches empty text, so it would match everything".to_owned(),
        Ok(content) => return Some(content),
        Err(regex::Error::CompiledTooBig(_)) => {
            format!("compiled it is larger than {REGEX_BYTES_MAX} bytes; repeat less")
        }
        // Its text draws the pattern and points into it; the last line says what is wrong.
        Err(error) => {
            let said = error.to_string();
            let what = said.lines().last().unwrap_or_default();
            let what = what.trim_start_matches("error: ");
            match what.contains("look-") || what.contains("backref") {
                true => format!("{what}, since it does not run in linear time"),
                false => what.to_owned(),
            }
        }
    };
    reader.report(node.place, format!("content_regex cannot be used: {why}"));
    None
}

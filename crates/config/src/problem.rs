//! What is wrong with a configuration, each with its place, all of it at once.

use std::fmt;
use std::path::PathBuf;

use sandbox::text_file::line_and_column;
use serde::Serialize;
use toml::de::DeTable;

use crate::tree::{Node, Place};

/// More than this many problems are one problem: the wrong file.
const PROBLEMS_SHOWN_MAX: usize = 50;

/// A file that was read.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its path as the user would name it.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// True for one that was found in a project: neither the user's own nor named.
    pub is_projects: bool,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where, if it stands somewhere.
    pub place: Option<Place>,
    /// What, in a sentence without a full stop. Never contains a value that may be a secret.
    pub what: String,
    /// What was probably meant, or what to do.
    pub hint: Option<String>,
    /// The line with a mark below the place.
    pub excerpt: Option<String>,
}

impl Problem {
    pub fn at(place: Place, what: impl Into<String>) -> Problem {
        Problem { place: Some(place), ..Problem::nowhere(what) }
    }

    pub fn nowhere(what: impl Into<String>) -> Problem {
        Problem { place: None, what: what.into(), hint: None, excerpt: None }
    }

    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Problem {
        Problem { hint: Some(hint.into()), ..self }
    }
}

/// A problem as programs are told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Told {
    /// The file as the user would name it, if it stands in one.
    pub file: Option<String>,
    /// From 1.
    pub line: Option<usize>,
    /// From 1, in characters.
    pub column: Option<usize>,
    /// The keys from the top of the file, joined by points, where they can be told.
    pub key: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What was probably meant, or what to do.
    pub hint: Option<String>,
    #[serde(skip)]
    excerpt: Option<String>,
}

impl Told {
    fn new(problem: Problem, sources: &[Source]) -> Told {
        let Problem { place, what: message, hint, excerpt } = problem;
        let found = place.and_then(|place| Some((place, sources.get(place.file)?)));
        let Some((place, source)) = found else { return Told { hint, excerpt, ..Told::plain(message) } };
        let (line, column) = line_and_column(&source.text, place.byte);
        let (line, column, file) = (Some(line), Some(column), Some(source.path.display().to_string()));
        let tree = Node::of(place.file, &DeTable::parse_recoverable(&source.text).0);
        let key = tree.keys_at(place.byte).map(|keys| keys.join("."));
        Told { file, line, column, key, message, hint, excerpt }
    }

    /// What stands in no file of configuration.
    pub fn plain(message: String) -> Told {
        Told { file: None, line: None, column: None, key: None, message, hint: None, excerpt: None }
    }

    /// `file:line:column: what; hint`.
    fn in_a_line(&self) -> String {
        let place = match (&self.file, self.line, self.column) {
            (Some(file), Some(line), Some(column)) => format!("{file}:{line}:{column}: "),
            _ => String::new(),
        };
        let hint = self.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        format!("{place}{}{hint}", self.message)
    }
}

/// Everything that is wrong with a configuration: one line for each, `file:line:column: what`, and below it what stands
/// there if that helps.
#[derive(Debug, thiserror::Error)]
pub struct Problems {
    told: Vec<Told>,
    lines: Vec<String>,
}

impl Problems {
    /// The problems in the order of the files.
    pub fn new(sources: &[Source], mut problems: Vec<Problem>) -> Problems {
        problems.sort_by_key(|problem| problem.place);
        problems.dedup();
        let told: Vec<Told> = problems.into_iter().map(|problem| Told::new(problem, sources)).collect();
        let lines = told.iter().map(Told::in_a_line).collect();
        Problems { told, lines }
    }

    /// One line for each problem.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// The same for programs.
    pub fn told(&self) -> &[Told] {
        &self.told
    }
}

/// What stands in no file.
impl From<Problem> for Problems {
    fn from(problem: Problem) -> Problems {
        Problems::new(&[], vec![problem])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.lines.iter().zip(&self.told).take(PROBLEMS_SHOWN_MAX);
        let shown = all.map(|(line, told)| match &told.excerpt {
            Some(excerpt) => format!("{line}\n{excerpt}"),
            None => line.clone(),
        });
        out.write_str(&shown.collect::<Vec<_>>().join("\n"))?;
        match self.lines.len().saturating_sub(PROBLEMS_SHOWN_MAX) {
            0 => Ok(()),
            more => write!(out, "\nand {more} more"),
        }
    }
}

/// `file:line:column` of a place; lines and columns count from 1, columns in characters.
pub(crate) fn spot(sources: &[Source], place: Place) -> Option<String> {
    let source = sources.get(place.file)?;
    let (line, column) = line_and_column(&source.text, place.byte);
    Some(format!("{}:{line}:{column}", source.path.display()))
}

/// `what` of a problem's line `file:line:column: what`, for one in a text that nobody has written.
pub fn without_place(line: &str) -> &str {
    let Some((place, what)) = line.split_once(": ") else { return line };
    let mut parts = place.rsplitn(3, ':');
    let mut is_number = || parts.next().is_some_and(|part| part.parse::<usize>().is_ok());
    if is_number() && is_number() { what } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_can_be_told_without_its_place() {
        for (line, what) in [
            ("/a:b.toml:1:22: mcp.x: wrong: so", "mcp.x: wrong: so"),
            ("mcp.x: wrong", "mcp.x: wrong"),
            ("a:1: wrong", "a:1: wrong"),
            ("wrong", "wrong"),
        ] {
            assert_eq!(without_place(line), what);
        }
    }

    #[test]
    fn problems_stand_in_the_order_of_the_text_and_are_bounded() {
        let sources = [Source { path: "a.toml".into(), text: "x\n".repeat(100), is_projects: false }];
        let at = |line: usize| Problem::at(Place { file: 0, byte: line * 2 }, format!("wrong {line}"));
        let problems = Problems::new(&sources, vec![at(1), Problem::nowhere("no file"), at(0), at(1)]);
        assert_eq!(problems.to_string(), "no file\na.toml:1:1: wrong 0\na.toml:2:1: wrong 1");
        let many = Problems::new(&sources, (0..60).map(at).collect()).to_string();
        assert_eq!(many.lines().count(), PROBLEMS_SHOWN_MAX + 1);
        assert!(many.ends_with("\nand 10 more"), "{many}");
    }
}

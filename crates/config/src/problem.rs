//! What is wrong with a configuration, each with its place, all of it at once.

use std::fmt;
use std::path::PathBuf;

use sandbox::text_file::line_and_column;

use crate::tree::Place;

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
}

impl Problem {
    pub fn at(place: Place, what: impl Into<String>) -> Problem {
        Problem { place: Some(place), what: what.into() }
    }

    pub fn nowhere(what: impl Into<String>) -> Problem {
        Problem { place: None, what: what.into() }
    }
}

/// Everything that is wrong with a configuration: one line for each, `file:line:column: what`.
#[derive(Debug, thiserror::Error)]
pub struct Problems {
    lines: Vec<String>,
}

impl Problems {
    /// The problems in the order of the files.
    pub fn new(sources: &[Source], mut problems: Vec<Problem>) -> Problems {
        problems.sort_by_key(|problem| problem.place);
        problems.dedup();
        let line = |problem: &Problem| match problem.place.and_then(|place| spot(sources, place)) {
            Some(spot) => format!("{spot}: {}", problem.what),
            None => problem.what.clone(),
        };
        Problems { lines: problems.iter().map(line).collect() }
    }

    /// One line for each problem.
    pub fn lines(&self) -> &[String] {
        &self.lines
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
        let shown = self.lines.len().min(PROBLEMS_SHOWN_MAX);
        out.write_str(&self.lines[..shown].join("\n"))?;
        match self.lines.len() - shown {
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

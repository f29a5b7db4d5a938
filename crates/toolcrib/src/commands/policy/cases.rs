//! `policy test`: the cases beside the rules, for people and for CI.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use policy::{Case, CaseResult};
use sandbox::text_file::{self, line_and_column};
use serde::Deserialize;
use serde_json::{Value, json};
use terminal::{Ending, Trouble, print};

use crate::cli::Cli;
use crate::commands::load::load_resting;

/// How the names of files with cases end.
const ENDING: &str = ".policy-test.toml";

/// Thousands of cases.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A file with cases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    tests: Vec<Case>,
}

pub(super) fn run(cli: &Cli, files: &[PathBuf]) -> Result<Ending, Trouble> {
    let loaded = load_resting(cli)?;
    let (mut cases, mut beside) = (Vec::new(), BTreeSet::new());
    if files.is_empty() {
        cases.extend(loaded.settings.policy.cases().iter().cloned());
        for folder in loaded.files().filter_map(|file| file.parent()) {
            beside
                .extend(text_file::with_ending(folder, ENDING).map_err(|error| unreadable(folder, &error))?);
        }
    }
    for file in files.iter().chain(&beside) {
        cases.extend(read(file)?);
    }
    if cases.is_empty() {
        return Err(Trouble::Misused(format!(
            "there are no cases; write them as [[policy.tests]] into the configuration, or as [[tests]] into a file \
             beside it whose name ends with `{ENDING}`"
        )));
    }
    let results: Vec<CaseResult> = cases.iter().map(|case| loaded.settings.policy.try_case(case)).collect();
    let bad = results.iter().filter(|result| !result.is_good()).count();
    let facts: Vec<Value> = results.iter().map(to_json).collect();
    let mut lines: Vec<String> = results.iter().map(ToString::to_string).collect();
    lines.push(format!("{} of {} cases as expected", results.len() - bad, results.len()));
    print::found(cli.json, &json!({ "cases": facts, "failed": bad }), &lines.join("\n"))?;
    Ok(if bad == 0 { Ending::Good } else { Ending::Failed })
}

fn read(path: &Path) -> Result<Vec<Case>, Trouble> {
    let text = text_file::read(path, FILE_BYTES_MAX).map_err(|error| unreadable(path, &error))?;
    parsed(&text).map_err(|why| Trouble::Misused(format!("{}:{why}", path.display())))
}

/// # Errors
/// `line:column: what`.
fn parsed(text: &str) -> Result<Vec<Case>, String> {
    toml::from_str::<File>(text).map(|file| file.tests).map_err(|error| {
        let (line, column) = line_and_column(text, error.span().map_or(0, |span| span.start));
        format!("{line}:{column}: {}", error.message())
    })
}

fn unreadable(path: &Path, error: &std::io::Error) -> Trouble {
    Trouble::Misused(format!("{} cannot be read: {error}", path.display()))
}

fn to_json(result: &CaseResult) -> Value {
    let got = match &result.got {
        Ok(got) => json!({ "effect": got.verdict.as_str(), "rule": &*got.rule, "why": &*got.why }),
        Err(error) => json!({ "error": error.to_string() }),
    };
    json!({
        "name": result.name,
        "good": result.is_good(),
        "expected": { "effect": result.expected.as_str(), "rule": result.rule },
        "got": got,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_cases_or_what_is_wrong_with_it() {
        let good = "[[tests]]\nname = \"n\"\ntool = \"t\"\nexpect = \"deny\"\n";
        assert_eq!(parsed(good).map(|cases| cases.len()), Ok(1));
        for (text, expected) in [
            ("", "1:1: missing field `tests`"),
            ("[[tests]]\nname = 1\n", "2:8: invalid type: integer `1`, expected a string"),
            ("tests = []\nrules = []\n", "2:1: unknown field `rules`, expected `tests`"),
        ] {
            assert_eq!(parsed(text).map(|cases| cases.len()), Err(expected.to_owned()), "{text}");
        }
    }
}

//! What stands beside the policy in files: cases, and the policies of other configurations.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use admin::Fault;
use admin::policy::Beside;
use config::{self, Surroundings, Unfollowed};
use policy::{Case, Policy};
use sandbox::text_file::{self, line_and_column};
use serde::Deserialize;

/// How the names of files with cases end.
const ENDING: &str = ".policy-test.toml";

/// Thousands of cases, in bytes.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// What stands beside one configuration.
pub(super) struct BesidePolicy {
    /// The cases among its rules.
    pub(super) cases: Vec<Case>,
    /// Its files.
    pub(super) files: Vec<PathBuf>,
    /// What other configurations are read with.
    pub(super) surroundings: Surroundings,
}

impl Beside for BesidePolicy {
    fn cases(&self) -> Result<Vec<Case>, Fault> {
        let mut beside = BTreeSet::new();
        for folder in self.files.iter().filter_map(|file| file.parent()) {
            let found = text_file::with_ending(folder, ENDING);
            beside.extend(found.map_err(|error| unreadable(folder, &error))?);
        }
        let mut cases = self.cases.clone();
        for file in &beside {
            cases.extend(cases_of(file)?);
        }
        Ok(cases)
    }

    fn policy_of(&self, file: &Path) -> Result<Policy, Fault> {
        let loaded = config::load(Some(file), &self.surroundings, Unfollowed::IsPassedOver);
        Ok(loaded.map_err(|problems| Fault::configuration(problems.to_string()))?.settings.policy)
    }
}

/// A file with cases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    tests: Vec<Case>,
}

/// The cases of a file.
///
/// # Errors
/// It cannot be read, or says something else.
pub fn cases_of(path: &Path) -> Result<Vec<Case>, Fault> {
    let text = text_file::read(path, FILE_BYTES_MAX).map_err(|error| unreadable(path, &error))?;
    parsed(&text).map_err(|why| Fault::misused(format!("{}:{why}", path.display())))
}

/// # Errors
/// `line:column: what`.
fn parsed(text: &str) -> Result<Vec<Case>, String> {
    toml::from_str::<File>(text).map(|file| file.tests).map_err(|error| {
        let (line, column) = line_and_column(text, error.span().map_or(0, |span| span.start));
        format!("{line}:{column}: {}", error.message())
    })
}

fn unreadable(path: &Path, error: &io::Error) -> Fault {
    Fault::misused(format!("{} cannot be read: {error}", path.display()))
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

//! The words after `cargo xtask bench`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};

use super::phases::{PHASES, Phase};
use super::slices::Budget;

/// Where the page goes besides standard output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Nowhere.
    Screen,
    /// A file, relative to the checkout's root.
    File(PathBuf),
}

/// The page that a whole run writes.
const PAGE: &str = "docs/benchmarks.md";

/// What was asked for.
pub(crate) struct Options {
    /// In the order of the list.
    pub(crate) phases: Vec<&'static Phase>,
    quick: bool,
    /// Whether to build and measure the product, or only floors and peers.
    pub(crate) with_toolcrib: bool,
    /// Another build of the product, to be measured beside this one.
    pub(crate) beside: Option<PathBuf>,
    /// Whether to count instructions.
    pub(crate) instructions: bool,
    /// Only a whole run replaces the page unless a file is named.
    pub(crate) output: Output,
}

impl Options {
    /// Refuses a word it does not know, with those it knows.
    pub(crate) fn parse(arguments: &[String]) -> anyhow::Result<Self> {
        let (mut names, mut out, mut beside) = (Vec::new(), None, None);
        let (mut quick, mut with_toolcrib, mut instructions) = (false, true, false);
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--quick" => quick = true,
                "--peers" => with_toolcrib = false,
                "--instructions" => instructions = true,
                "--beside" => beside = Some(PathBuf::from(words.next().context("--beside needs a program")?)),
                "--out" => out = Some(PathBuf::from(words.next().context("--out needs a file name")?)),
                name if PHASES.iter().any(|phase| phase.name == name) => names.push(name),
                _ => bail!(
                    "there is no phase `{word}`; the phases are {}; the options are --quick, --peers, \
                     --instructions, --beside PROGRAM and --out FILE",
                    PHASES.iter().map(|phase| phase.name).collect::<Vec<_>>().join(", ")
                ),
            }
        }
        let phases = PHASES.iter().filter(|phase| names.is_empty() || names.contains(&phase.name)).collect();
        let whole = names.is_empty() && with_toolcrib && !quick;
        let output = match out {
            Some(path) => Output::File(path),
            None if whole => Output::File(PAGE.into()),
            None => Output::Screen,
        };
        Ok(Self { phases, quick, with_toolcrib, beside, instructions, output })
    }

    /// A quick run finds mistakes of the driver; only a whole one finds figures.
    pub(crate) fn budget(&self) -> Budget {
        if self.quick {
            Budget { slices: 3, slice_time: Duration::from_millis(60), warm_up_calls: 500 }
        } else {
            Budget { slices: 9, slice_time: Duration::from_millis(200), warm_up_calls: 20_000 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, phases: usize, output: &Output) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let options = Options::parse(&words).expect("these words are known");
        assert_eq!((options.phases.len(), &options.output), (phases, output), "{line}");
    }

    #[test]
    fn only_a_whole_run_replaces_the_page() {
        check("", PHASES.len(), &Output::File(PAGE.into()));
        check("--quick", PHASES.len(), &Output::Screen);
        check("--peers", PHASES.len(), &Output::Screen);
        check("stdio", 1, &Output::Screen);
        check("stdio --out other.md", 1, &Output::File("other.md".into()));
    }

    #[test]
    fn an_unknown_word_is_answered_with_the_known_ones() {
        let error = Options::parse(&["stdoi".into()]).err().expect("no such phase").to_string();
        assert!(error.starts_with("there is no phase `stdoi`; the phases are stdio, "), "{error}");
    }
}

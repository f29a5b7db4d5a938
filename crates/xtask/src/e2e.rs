//! The end-to-end cases: scripts that use the built program as its users do. `e2e/cases` has most of them, `e2e/long` those
//! that need a gigabyte of other people's programs.
//!
//! `e2e/README.md` tells a case what it is given. This file lists and runs them; [`case`] runs one;
//! [`leftovers`] sees that nothing survives it.

mod case;
mod leftovers;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context as _, bail, ensure};

use crate::checkout::Checkout;
use crate::{install, program};
use case::{Case, Given, Length};

/// Cases mostly wait for processes to start; two keep two cores busy.
const CASES_AT_ONCE: usize = 2;

/// Every case.
pub(crate) fn all(checkout: &Checkout) -> anyhow::Result<()> {
    run(checkout, &[])
}

/// The cases whose names contain one of `words`; every case if there are none.
pub(crate) fn run(checkout: &Checkout, words: &[String]) -> anyhow::Result<()> {
    run_for(checkout, words, Length::Short)
}

/// A case that tries something by chance and finds the more the longer it goes on, as long as it is meant to.
pub(crate) fn long(checkout: &Checkout, name: &str) -> anyhow::Result<()> {
    run_for(checkout, &[name.to_owned()], Length::Long)
}

/// The cases of `e2e/long` whose names contain `word`.
pub(crate) fn extended(checkout: &Checkout, word: &str) -> anyhow::Result<()> {
    let cases = list(&checkout.root.join("e2e").join("long"), &[word.to_owned()])?;
    let kit = install::kit(checkout)?;
    let extended = Some(install::extended_kit(checkout, &kit)?);
    run_given(cases, Given { program: program::build(checkout)?, kit, extended, length: Length::Short })
}

fn run_for(checkout: &Checkout, words: &[String], length: Length) -> anyhow::Result<()> {
    let cases = list(&checkout.root.join("e2e").join("cases"), words)?;
    let kit = install::kit(checkout)?;
    run_given(cases, Given { program: program::build(checkout)?, kit, extended: None, length })
}

fn run_given(cases: Vec<Case>, given: Given) -> anyhow::Result<()> {
    let failed = run_cases(cases.clone(), |case| case.run(&given));
    println!("{} passed, {} failed", cases.len() - failed.len(), failed.len());
    ensure!(failed.is_empty(), "{}", failed.join(", "));
    Ok(())
}

/// The scripts of a folder, by name.
fn list(folder: &Path, words: &[String]) -> anyhow::Result<Vec<Case>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("no cases in {}", folder.display()))?;
    let mut scripts: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    scripts.sort();
    let cases = scripts.iter().filter_map(|script| Case::of(script));
    let chosen: Vec<Case> = cases
        .filter(|case| words.is_empty() || words.iter().any(|word| case.name.contains(word.as_str())))
        .collect();
    if chosen.is_empty() {
        bail!("no case in {} is called {}", folder.display(), words.join(" or "));
    }
    Ok(chosen)
}

/// Runs the cases a few at a time, tells of each as it ends, and returns the names of those that failed.
fn run_cases(cases: Vec<Case>, run: impl Fn(&Case) -> anyhow::Result<()> + Sync) -> Vec<String> {
    let waiting = Mutex::new(cases.into_iter());
    let failed = Mutex::new(Vec::new());
    let next = || waiting.lock().expect("taking a case does not panic").next();
    std::thread::scope(|scope| {
        for _ in 0..CASES_AT_ONCE {
            scope.spawn(|| {
                while let Some(case) = next() {
                    let start = std::time::Instant::now();
                    let result = run(&case);
                    let seconds = start.elapsed().as_secs_f64();
                    match result {
                        Ok(()) => println!("pass  {:<40} {seconds:>6.1} s", case.name),
                        Err(error) => {
                            println!("FAIL  {:<40} {seconds:>6.1} s\n{error:#}", case.name);
                            failed.lock().expect("adding a name does not panic").push(case.name);
                        }
                    }
                }
            });
        }
    });
    failed.into_inner().expect("adding a name does not panic")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &[&str], words: &[&str]) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for file in files {
            std::fs::write(folder.path().join(file), "").expect("a file");
        }
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        match list(folder.path(), &words) {
            Ok(cases) => Ok(cases.into_iter().map(|case| case.name).collect()),
            Err(error) => Err(error.to_string().replace(&folder.path().display().to_string(), "HERE")),
        }
    }

    #[test]
    fn scripts_are_cases_and_nothing_else_is() {
        assert_eq!(
            names(&["b.mjs", "a.py", "note.md", "c.json"], &[]),
            Ok(vec!["a.py".into(), "b.mjs".into()])
        );
        assert_eq!(names(&["b.mjs", "a.py"], &["b"]), Ok(vec!["b.mjs".into()]));
        assert_eq!(names(&["b.mjs"], &["x", "y"]), Err("no case in HERE is called x or y".into()));
    }

    #[test]
    fn every_case_runs_and_the_failed_are_named() {
        let script = |name: &str| Case::of(Path::new(name)).expect("a script");
        let failed = run_cases(vec![script("a.py"), script("b.py"), script("c.mjs")], |case| {
            ensure!(case.name != "b.py", "it did not hold");
            Ok(())
        });
        assert_eq!(failed, ["b.py"]);
    }
}

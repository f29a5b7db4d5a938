//! `cargo xtask mutants [CRATE…] [K/N]`: breaks the code in one small way after the other, and a test of the crate that is
//! broken must fail each time. cargo-mutants does it; what may survive, and why, is in `.cargo/mutants.toml`.
//!
//! The work is done in a copy below `.cache/`, so a run that is killed leaves no break in the checkout.

use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail, ensure};

use crate::checkout::Checkout;
use crate::{install, step};

/// The crates that must not break unseen: what survives a crash, what is on record, what may be touched, what may run.
const CRATES: [&str; 4] = ["store", "audit", "sandbox", "gate"];

/// Of so many shares one is taken each day, so that a round lasts a quarter of a year.
const SHARES: u64 = 90;

const DAY_S: u64 = 86_400;

/// How long one break may take to build, and the tests with it, in seconds. Before the first, all dependencies are built;
/// and a test that hangs is ended earlier, by the profile `mutants` of nextest.
const BUILD_TIME_MAX_S: u64 = 1_200;
const TESTS_TIME_MAX_S: u64 = 600;

pub(crate) fn run(checkout: &Checkout, words: &[String]) -> anyhow::Result<()> {
    let (share, crates) = asked(words)?;
    let share = share.map_or_else(share_of_today, Ok)?;
    let tool = install::cargo_tool(checkout, &install::pins::CARGO_MUTANTS)?;
    let folder = checkout.cache().join("mutants");
    let copy = copied(checkout)?.to_string_lossy().into_owned();
    let mut failed = Vec::new();
    for name in crates {
        let mut command =
            checkout.command(&tool, &["mutants", "--in-place", "--dir", &copy, "--package", name]);
        command.args(["--sharding=round-robin", "--shard", &share, "--output"]).arg(folder.join(name));
        command
            .arg(format!("--build-timeout={BUILD_TIME_MAX_S}"))
            .arg(format!("--timeout={TESTS_TIME_MAX_S}"));
        // Nobody looks at a backtrace, and without debug information a link takes half the time.
        command.env("CARGO_TARGET_DIR", folder.join("target")).env("CARGO_PROFILE_DEV_DEBUG", "0");
        if let Err(error) = step::run(&mut command) {
            println!("{error:#}");
            failed.push(name);
        }
    }
    ensure!(
        failed.is_empty(),
        "breaks that no test notices, or tests that do not pass: {}",
        failed.join(", ")
    );
    Ok(())
}

/// The share that was asked for, if any, and the crates.
fn asked(words: &[String]) -> anyhow::Result<(Option<String>, Vec<&str>)> {
    let (mut share, mut crates) = (None, Vec::new());
    for word in words {
        match word.split_once('/') {
            Some((nth, all)) if is_share(nth, all) => share = Some(word.clone()),
            None if CRATES.contains(&&**word) => crates.push(&**word),
            _ => bail!("`{word}` is neither a share, such as 0/{SHARES}, nor one of: {}", CRATES.join(" ")),
        }
    }
    Ok((share, if crates.is_empty() { CRATES.to_vec() } else { crates }))
}

fn is_share(nth: &str, all: &str) -> bool {
    matches!((nth.parse::<u32>(), all.parse::<u32>()), (Ok(nth), Ok(all)) if nth < all)
}

fn share_of_today() -> anyhow::Result<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock was never set")?;
    Ok(format!("{}/{SHARES}", now.as_secs() / DAY_S % SHARES))
}

/// Copies what git knows of, or would, and nothing else. All of it is written anew: what cargo has built of a break must not
/// be taken for what it builds of the source.
fn copied(checkout: &Checkout) -> anyhow::Result<PathBuf> {
    let copy = checkout.cache().join("mutants").join("tree");
    if copy.exists() {
        fs::remove_dir_all(&copy)?;
    }
    let words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = step::capture(&mut checkout.command("git", &words))?;
    for name in listed.split_terminator('\0') {
        let (from, to) = (checkout.root.join(name), copy.join(name));
        // One that was removed is listed until that is committed.
        if from.exists() {
            fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
            fs::copy(&from, &to).with_context(|| format!("{name} could not be copied"))?;
        }
    }
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[&str], expected: Result<(Option<&str>, &[&str]), &str>) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let asked = asked(&words).map_err(|error| error.to_string());
        let asked = asked.as_ref().map(|(share, crates)| (share.as_deref(), &crates[..]));
        assert_eq!(asked.map_err(|error| error.split(" is ").next().unwrap_or_default()), expected);
    }

    #[test]
    fn crates_and_one_share_are_taken_and_nothing_else() {
        check(&[], Ok((None, &CRATES)));
        check(&["gate", "2/3"], Ok((Some("2/3"), &["gate"])));
        check(&["0/1"], Ok((Some("0/1"), &CRATES)));
        for word in ["wire", "3/3", "/", "x/3", "1/", "-1/3", "1/3/5"] {
            check(&[word], Err(&format!("`{word}`")));
        }
    }

    #[test]
    fn what_may_survive_is_a_list_that_cargo_mutants_reads() {
        let checkout = Checkout::locate().expect("cargo knows the checkout");
        let list = fs::read_to_string(checkout.root.join(".cargo/mutants.toml")).expect("a list");
        let list: toml::Table = toml::from_str(&list).expect("TOML");
        assert!(list["exclude_re"].as_array().is_some_and(|all| !all.is_empty()));
    }
}

//! `cargo xtask lock [FOLDER…]`: the lock files of all that is installed from npm and PyPI, made anew from what is asked for.
//!
//! A `package.json` or a `requirements.in` names exact versions; the lock beside it has everything those need, with
//! hashes, and is what is installed. No lock names the registry it came from.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::{marker, pins, python};
use crate::checkout::Checkout;
use crate::step;

/// The folders with a `package.json`.
const NPM: &[&str] = &[
    "e2e/packages",
    "e2e/packages/node",
    "e2e/packages/long",
    "bench/peers/ts-echo",
    "bench/peers/sandboxes",
];

/// The folders with a `requirements.in`.
const PYTHON: &[&str] =
    &["e2e/packages", "e2e/packages/long", "e2e/packages/long/sdk_v2", "bench/peers/fastmcp-proxy"];

/// The oldest Python that the locks are for.
const PYTHON_MIN: &str = "3.11";

/// The locks of these folders; of every one if none is named.
pub(crate) fn run(checkout: &Checkout, folders: &[String]) -> anyhow::Result<()> {
    known(folders)?;
    let is_wanted = |folder: &&&str| folders.is_empty() || folders.iter().any(|name| name == *folder);
    for folder in NPM.iter().filter(is_wanted) {
        npm(&checkout.root.join(folder))?;
    }
    let uv = uv(&checkout.cache())?;
    for folder in PYTHON.iter().filter(is_wanted) {
        let mut compile = Command::new(&uv);
        compile.args(["pip", "compile", "--quiet", "--universal", "--python-version", PYTHON_MIN]);
        compile.args(["--generate-hashes", "--no-header", "--no-annotate", "--upgrade"]);
        compile.args(["--output-file", "requirements.txt", "requirements.in"]);
        step::run(compile.current_dir(checkout.root.join(folder)))?;
    }
    Ok(())
}

/// Refuses a folder in which nothing is locked.
fn known(folders: &[String]) -> anyhow::Result<()> {
    let known: BTreeSet<&str> = NPM.iter().chain(PYTHON).copied().collect();
    match folders.iter().find(|folder| !known.contains(folder.as_str())) {
        Some(unknown) => {
            let known: Vec<&str> = known.into_iter().collect();
            bail!("nothing is locked in `{unknown}`; the folders are: {}", known.join(" "))
        }
        None => Ok(()),
    }
}

fn npm(folder: &Path) -> anyhow::Result<()> {
    let file = folder.join("package-lock.json");
    if file.exists() {
        fs::remove_file(&file).with_context(|| format!("{} cannot be removed", file.display()))?;
    }
    let mut lock = Command::new("npm");
    lock.args(["install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"]);
    // By force: the packages for other platforms are to be in it, too.
    lock.args(["--omit-lockfile-registry-resolved=true", "--loglevel=error", "--force"]);
    step::run(lock.current_dir(folder))?;
    let text = fs::read_to_string(&file).with_context(|| format!("no {}", file.display()))?;
    fs::write(&file, without_missing(&text)?).with_context(|| format!("{} cannot be written", file.display()))
}

/// A lock without the optional packages that the registry did not have: `npm ci` would ask for them.
fn without_missing(lock: &str) -> anyhow::Result<String> {
    let mut lock: Value = serde_json::from_str(lock)?;
    let packages = lock["packages"].as_object_mut().context("a lock of npm has packages")?;
    let there: Vec<String> = packages
        .keys()
        .filter_map(|path| path.rsplit_once("node_modules/").map(|(_, name)| name.to_owned()))
        .collect();
    for package in packages.values_mut() {
        if let Some(optional) = package.get_mut("optionalDependencies").and_then(Value::as_object_mut) {
            optional.retain(|name, _| there.contains(name));
        }
    }
    Ok(format!("{}\n", serde_json::to_string_pretty(&lock)?))
}

/// The program that resolves Python's packages for every platform, in an environment of its own.
fn uv(cache: &Path) -> anyhow::Result<std::path::PathBuf> {
    let folder = cache.join("uv");
    marker::once(&folder, "uv", pins::UV, || {
        let interpreter = python::environment(&folder)?;
        step::capture(Command::new(interpreter).args(["-m", "pip", "install", "--quiet", pins::UV])).map(drop)
    })?;
    Ok(folder.join("bin").join("uv"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_lock_is_refused() {
        assert!(known(&[]).is_ok() && known(&["e2e/packages/long".to_owned()]).is_ok());
        let error = known(&["e2e".to_owned()]).expect_err("nothing is locked there").to_string();
        assert!(error.starts_with("nothing is locked in `e2e`; the folders are: bench/peers/"), "{error}");
    }

    #[test]
    fn a_lock_asks_for_nothing_that_it_does_not_have() {
        let lock = r#"{"packages":{"":{"optionalDependencies":{"a":"1"}},
            "node_modules/a":{"optionalDependencies":{"@b/there":"1","@b/missing":"1"}},
            "node_modules/a/node_modules/@b/there":{"version":"1"}}}"#;
        let made: Value = serde_json::from_str(&without_missing(lock).expect("a lock")).expect("JSON");
        assert_eq!(made["packages"][""]["optionalDependencies"], serde_json::json!({"a": "1"}));
        let kept = &made["packages"]["node_modules/a"]["optionalDependencies"];
        assert_eq!(*kept, serde_json::json!({"@b/there": "1"}));
        assert!(without_missing("{}").is_err());
    }
}

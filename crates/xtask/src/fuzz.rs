//! `cargo xtask fuzz [TARGET…]`: LLVM's fuzzer over the targets of `fuzz/`, a minute for each, with the stable compiler.
//!
//! Coverage comes from compiler passes that every toolchain has. The sanitizers, which only a nightly one has, would look
//! for broken memory, and our crates but one have no `unsafe`.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};

use crate::checkout::Checkout;
use crate::step;
use crate::watched::{self, End};

/// How long each target is run.
const TARGET_TIME: Duration = Duration::from_secs(60);

/// How much longer it may take to start and to end, on a busy machine.
const GRACE: Duration = Duration::from_secs(60);

/// Targets at once: each takes a core.
const TARGETS_AT_ONCE: usize = 2;

/// No input is larger, in bytes: what is large finds nothing that small inputs do not, and slowly.
const INPUT_BYTES_MAX: usize = 16 * 1024;

/// An input that takes longer is a finding, in seconds.
const INPUT_TIME_MAX_S: u64 = 10;

/// What counts how far an input reaches.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

pub(crate) fn run(checkout: &Checkout, words: &[String]) -> anyhow::Result<()> {
    let known = targets(checkout)?;
    if let Some(unknown) = words.iter().find(|word| !known.contains(*word)) {
        let known: Vec<String> = known.into_iter().collect();
        bail!("there is no target `{unknown}`; the targets are: {}", known.join(" "));
    }
    let host = host(checkout)?;
    let mut build =
        checkout.command("cargo", &["build", "--release", "--locked", "--manifest-path=fuzz/Cargo.toml"]);
    // With the target named, what builds and runs at compile time is not instrumented.
    build
        .args(["--target", &host])
        .env("RUSTFLAGS", COVERAGE)
        .env("CARGO_TARGET_DIR", checkout.root.join("fuzz/target"));
    for word in words {
        build.args(["--bin", word]);
    }
    step::run(&mut build)?;
    let chosen = known.into_iter().filter(|name| words.is_empty() || words.contains(name));
    let waiting = Mutex::new(chosen);
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..TARGETS_AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().expect("taking a target does not panic").next();
                    let Some(target) = next else { return };
                    match fuzzed(checkout, &host, &target) {
                        Ok(says) => println!("{target:<16} {says}"),
                        Err(error) => {
                            println!("{error:#}");
                            found.lock().expect("adding a name does not panic").push(target);
                        }
                    }
                }
            });
        }
    });
    let found = found.into_inner().expect("adding a name does not panic");
    ensure!(
        found.is_empty(),
        "inputs that fail were found for {}: they lie in fuzz/artifacts",
        found.join(", ")
    );
    Ok(())
}

/// The targets, by the names of their files.
fn targets(checkout: &Checkout) -> anyhow::Result<BTreeSet<String>> {
    let folder = checkout.root.join("fuzz").join("targets");
    let entries = fs::read_dir(&folder).with_context(|| format!("no targets in {}", folder.display()))?;
    let names =
        entries.map(|entry| Ok(entry?.path().file_stem().map(|name| name.to_string_lossy().into_owned())));
    Ok(names.collect::<std::io::Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// What the compiler builds for when nothing else is said.
fn host(checkout: &Checkout) -> anyhow::Result<String> {
    let about = step::capture(&mut checkout.command("rustc", &["-vV"]))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not name its host")?.to_owned())
}

/// Runs one target for its time, from what is kept in its corpus; says how far it came.
fn fuzzed(checkout: &Checkout, host: &str, target: &str) -> anyhow::Result<String> {
    let fuzz = checkout.root.join("fuzz");
    // What the fuzzer finds interesting is not kept: the corpus is chosen by people.
    let own = tempfile::tempdir().context("no temporary folder")?;
    let (found, output) = (own.path().join("found"), own.path().join("output"));
    fs::create_dir(&found)?;
    let artifacts = fuzz.join("artifacts").join(target);
    fs::create_dir_all(&artifacts)?;
    let mut command = Command::new(fuzz.join("target").join(host).join("release").join(target));
    command
        .arg(&found)
        .arg(fuzz.join("corpus").join(target))
        .current_dir(own.path())
        .env("TMPDIR", own.path());
    command.arg(format!("-artifact_prefix={}/", artifacts.display()));
    command.arg(format!("-max_total_time={}", TARGET_TIME.as_secs()));
    command.arg(format!("-max_len={INPUT_BYTES_MAX}")).arg(format!("-timeout={INPUT_TIME_MAX_S}"));
    let end = watched::run(&mut command, &output, TARGET_TIME + GRACE)?;
    let printed = watched::shown(&output);
    match end {
        End::Exited(status) if status.success() => {
            let last = printed.lines().rev().find(|line| line.starts_with("Done ")).unwrap_or("ended early");
            Ok(last.to_owned())
        }
        End::Exited(status) => bail!("{printed}{target}: {status}"),
        End::Late(limit) => bail!("{printed}{target} had not ended after {} s", limit.as_secs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_built_and_has_a_corpus() {
        let checkout = Checkout::locate().expect("cargo knows the checkout");
        let manifest = fs::read_to_string(checkout.root.join("fuzz/Cargo.toml")).expect("a manifest");
        for target in targets(&checkout).expect("targets") {
            assert!(manifest.contains(&format!("path = \"targets/{target}.rs\"")), "{target}");
            let corpus = fs::read_dir(checkout.root.join("fuzz/corpus").join(&target)).expect("a corpus");
            assert!(corpus.count() > 0, "{target}");
        }
    }

    #[test]
    fn an_unknown_target_is_refused() {
        let checkout = Checkout::locate().expect("cargo knows the checkout");
        let error = run(&checkout, &["frames".to_owned()]).expect_err("no such target");
        assert!(
            error.to_string().starts_with("there is no target `frames`; the targets are: command condition "),
            "{error}"
        );
    }
}

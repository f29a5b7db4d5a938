//! `cargo xtask toolchain`: whether the newest stable compiler on this machine builds the workspace, too.
//!
//! `rust-toolchain.toml` pins the one that everything is checked with. What a newer one says is told and fails nothing.

use std::fs;

use anyhow::{Context as _, ensure};

use crate::checkout::Checkout;
use crate::step;

/// Of a compiler: major, minor and patch.
type Version = (u32, u32, u32);

pub(crate) fn run(checkout: &Checkout, words: &[String]) -> anyhow::Result<()> {
    ensure!(words.is_empty(), "`cargo xtask toolchain` takes no words");
    newest(checkout)
}

/// Checks the workspace with the newest installed stable compiler, if it is newer than the pinned one.
pub(crate) fn newest(checkout: &Checkout) -> anyhow::Result<()> {
    let pinned = pinned(checkout)?;
    let Ok(list) = step::capture(&mut checkout.command("rustup", &["toolchain", "list"])) else {
        println!("skipped: there is no rustup, and so no other compiler to be found");
        return Ok(());
    };
    let stable =
        list.lines().filter_map(|line| line.split_whitespace().next()).filter(|name| is_stable(name));
    let versions = stable.filter_map(|name| {
        let answer = step::capture(&mut checkout.command("rustup", &["run", name, "rustc", "--version"]));
        Some((version(answer.ok()?.split_whitespace().nth(1)?)?, name))
    });
    match versions.max() {
        Some((found, name)) if found > pinned => try_with(checkout, name),
        _ => {
            println!("skipped: no stable compiler newer than {} is installed", text(pinned));
            Ok(())
        }
    }
}

fn try_with(checkout: &Checkout, name: &str) -> anyhow::Result<()> {
    let words = ["run", name, "cargo", "check", "--workspace", "--all-targets", "--locked"];
    let mut check = checkout.command("rustup", &words);
    // Apart, so that the ordinary build has nothing to do again.
    match step::run(check.env("CARGO_TARGET_DIR", checkout.cache().join("newest-toolchain"))) {
        Ok(()) => println!("{name} builds the workspace"),
        Err(error) => println!("{name} does not build the workspace, which fails nothing: {error:#}"),
    }
    Ok(())
}

fn pinned(checkout: &Checkout) -> anyhow::Result<Version> {
    let file = checkout.root.join("rust-toolchain.toml");
    let text = fs::read_to_string(&file).with_context(|| format!("no {}", file.display()))?;
    let table: toml::Table = toml::from_str(&text)?;
    let channel = table.get("toolchain").and_then(|toolchain| toolchain.get("channel")?.as_str());
    channel.and_then(version).context("rust-toolchain.toml pins no version")
}

/// Whether a toolchain is called `stable-…` or by its number.
fn is_stable(name: &str) -> bool {
    name.starts_with("stable") || name.split('-').next().is_some_and(|number| version(number).is_some())
}

/// `1.95.0`, or `1.95` for the first of its line.
fn version(text: &str) -> Option<Version> {
    let mut parts = text.split('.').map(str::parse);
    let version = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next().unwrap_or(Ok(0)).ok()?);
    parts.next().is_none().then_some(version)
}

fn text((major, minor, patch): Version) -> String {
    format!("{major}.{minor}.{patch}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_stable_toolchains_are_tried() {
        let check = |name, expected| assert_eq!(is_stable(name), expected, "{name}");
        check("stable-x86_64-unknown-linux-gnu", true);
        check("1.96.0-x86_64-unknown-linux-gnu", true);
        check("1.96-x86_64-unknown-linux-gnu", true);
        check("nightly-2026-01-01-x86_64-unknown-linux-gnu", false);
        check("beta-x86_64-unknown-linux-gnu", false);
        check("mine", false);
    }

    #[test]
    fn the_pinned_compiler_is_the_one_that_the_manifests_ask_for() {
        let checkout = Checkout::locate().expect("cargo knows the checkout");
        let asked = version(env!("CARGO_PKG_RUST_VERSION")).expect("a version");
        assert_eq!(pinned(&checkout).expect("a pin"), asked);
    }
}

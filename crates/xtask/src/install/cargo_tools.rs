//! Cargo's own extensions: the components of the toolchain, and programs built from their sources.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use crate::checkout::Checkout;
use crate::step;

/// A program of cargo's registry.
pub struct Tool {
    pub name: &'static str,
    /// What is installed where it is missing.
    pub version: &'static str,
    /// Whether another version on the machine counts as missing.
    pub exact: bool,
    /// What else `cargo install` is told.
    pub words: &'static [&'static str],
}

/// Checks that the toolchain can format and lint, which only its owner can change.
pub(super) fn components() -> anyhow::Result<()> {
    for component in ["rustfmt", "clippy"] {
        let name = if component == "rustfmt" { "fmt" } else { component };
        step::capture(Command::new("cargo").args([name, "--version"])).with_context(|| {
            format!("the toolchain has no {component}: run `rustup component add {component}`")
        })?;
    }
    Ok(())
}

/// The Cargo beside the compiler that the checkout pins.
pub(super) fn cargo(checkout: &Checkout) -> anyhow::Result<PathBuf> {
    let sysroot = step::capture(&mut checkout.command("rustc", &["--print", "sysroot"]))?;
    Ok(Path::new(sysroot.trim()).join("bin").join("cargo"))
}

/// The program to start for a tool: the machine's own where it serves, else one built into `.cache/tools`.
pub fn cargo_tool(checkout: &Checkout, tool: &Tool) -> anyhow::Result<String> {
    if serves(tool, tool.name) {
        return Ok(tool.name.to_owned());
    }
    let folder = checkout.cache().join("tools");
    let program = folder.join("bin").join(tool.name).to_string_lossy().into_owned();
    if !serves(tool, &program) {
        let wanted = format!("{}@{}", tool.name, tool.version);
        // Unoptimised and without debug information: a minute on two cores instead of ten, and fast enough.
        let mut install = checkout.command("cargo", &["install", "--locked", "--debug", &wanted, "--root"]);
        install.arg(&folder).args(tool.words);
        install.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_DEV_STRIP", "symbols");
        step::run(&mut install)?;
    }
    Ok(program)
}

fn serves(tool: &Tool, program: &str) -> bool {
    // As cargo calls it: not every one says its version otherwise.
    let mut ask = Command::new(program);
    ask.args([tool.name.trim_start_matches("cargo-"), "--version"]);
    step::capture(&mut ask).is_ok_and(|answer| is_wanted(tool, &answer))
}

/// Whether a program that answers `NAME VERSION …` is the one wanted.
fn is_wanted(tool: &Tool, answer: &str) -> bool {
    let mut words = answer.split_whitespace();
    words.next() == Some(tool.name) && words.next().is_some_and(|found| !tool.exact || found == tool.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(exact: bool, answer: &str, expected: bool) {
        let tool = Tool { name: "cargo-deny", version: "0.20.2", exact, words: &[] };
        assert_eq!(is_wanted(&tool, answer), expected, "{exact} {answer}");
    }

    #[test]
    fn a_pinned_tool_is_replaced_and_another_is_not() {
        check(true, "cargo-deny 0.20.2\n", true);
        check(true, "cargo-deny 0.20.1\n", false);
        check(true, "cargo-deny 0.20.20\n", false);
        check(false, "cargo-deny 0.19.0 (abcdef 2026-01-01)\nrelease: 0.19.0\n", true);
        check(false, "something else\n", false);
        check(false, "", false);
    }
}

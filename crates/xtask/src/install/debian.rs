//! Programs of the machine itself: installed by Debian's package manager where we may, else named.

use std::path::Path;
use std::process::Command;

use anyhow::bail;

use crate::checkout::System;
use crate::program::MUSL_COMPILER;
use crate::step;

/// A program the tests cannot do without: how to see that it is there, and the package that brings it.
struct Needed {
    probe: &'static [&'static str],
    package: &'static str,
}

/// What a static build needs beside them.
const MUSL: &[Needed] = &[Needed { probe: &[MUSL_COMPILER, "--version"], package: "musl-tools" }];

/// What makes system calls fail.
const STRACE: &[Needed] = &[Needed { probe: &["strace", "--version"], package: "strace" }];

/// What other sandboxes are made of, to be measured beside ours.
const SANDBOXES: &[Needed] = &[
    Needed { probe: &["bwrap", "--version"], package: "bubblewrap" },
    Needed { probe: &["socat", "-V"], package: "socat" },
    Needed { probe: &["rg", "--version"], package: "ripgrep" },
];

const NEEDED: &[Needed] = &[
    Needed { probe: &["git", "--version"], package: "git" },
    Needed { probe: &["npm", "--version"], package: "npm" },
    // Makes the certificate of the case for TLS.
    Needed { probe: &["openssl", "version"], package: "openssl" },
    // In which a person signs in.
    Needed { probe: &["chromium", "--version"], package: "chromium" },
    // What starts confined programs where we may make no namespaces.
    Needed { probe: &["bwrap", "--version"], package: "bubblewrap" },
    // What a program is typed at in, where what it draws matters.
    Needed { probe: &["tmux", "-V"], package: "tmux" },
    // Debian leaves this part of Python out of its plain package.
    Needed { probe: &["python3", "-c", "import ensurepip, venv"], package: "python3-venv" },
];

/// Makes sure that the programs are there; says what it installs, and how, before it does.
pub(super) fn programs(system: System) -> anyhow::Result<()> {
    install(NEEDED, system)
}

/// The same for what a static build needs.
pub(crate) fn musl(system: System) -> anyhow::Result<()> {
    install(MUSL, system)
}

/// The same for what makes system calls fail.
pub(crate) fn strace(system: System) -> anyhow::Result<()> {
    install(STRACE, system)
}

/// The same for what other sandboxes are made of.
pub fn sandboxes(system: System) -> anyhow::Result<()> {
    install(SANDBOXES, system)
}

fn install(needed: &[Needed], system: System) -> anyhow::Result<()> {
    let missing = missing(needed, |probe| step::capture(Command::new(probe[0]).args(&probe[1..])).is_ok());
    if missing.is_empty() {
        return Ok(());
    }
    let can = rustix::process::geteuid().is_root() && Path::new("/usr/bin/apt-get").exists();
    if !can || system == System::Name {
        bail!("{}", refusal(&missing, can));
    }
    println!(
        "the machine lacks {}: installing these packages by apt-get, unless `--no-system` is said",
        missing.join(" ")
    );
    step::run(Command::new("apt-get").arg("update"))?;
    let mut install = Command::new("apt-get");
    install.args(["install", "--yes", "--no-install-recommends"]).args(missing);
    step::run(install.env("DEBIAN_FRONTEND", "noninteractive"))
}

fn refusal(missing: &[&str], can: bool) -> String {
    let packages = missing.join(" ");
    let instead = if can { ", or leave `--no-system` out" } else { "" };
    format!("the machine lacks {packages} (named as Debian's packages): install these first{instead}")
}

/// The packages whose programs do not answer.
fn missing(needed: &[Needed], answers: impl Fn(&[&str]) -> bool) -> Vec<&'static str> {
    needed.iter().filter(|needed| !answers(needed.probe)).map(|needed| needed.package).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_does_not_answer_is_installed() {
        assert_eq!(missing(NEEDED, |_| true), Vec::<&str>::new());
        assert_eq!(
            missing(NEEDED, |probe| probe[0] == "git"),
            ["npm", "openssl", "chromium", "bubblewrap", "tmux", "python3-venv"]
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        let start = "the machine lacks npm git (named as Debian's packages): install these first";
        assert_eq!(refusal(&["npm", "git"], false), start);
        assert_eq!(refusal(&["npm", "git"], true), format!("{start}, or leave `--no-system` out"));
    }
}

//! Programs of the machine itself: installed by Debian's package manager where we may, else named.

use std::path::Path;
use std::process::Command;

use anyhow::bail;

use crate::step;

/// A program the tests cannot do without: how to see that it is there, and the package that brings it.
struct Needed {
    probe: &'static [&'static str],
    package: &'static str,
}

const NEEDED: &[Needed] = &[
    Needed { probe: &["git", "--version"], package: "git" },
    Needed { probe: &["npm", "--version"], package: "npm" },
    // In which a person signs in.
    Needed { probe: &["chromium", "--version"], package: "chromium" },
    // Debian leaves this part of Python out of its plain package.
    Needed { probe: &["python3", "-c", "import ensurepip, venv"], package: "python3-venv" },
];

/// Makes sure that the programs are there.
pub(super) fn programs() -> anyhow::Result<()> {
    let missing = missing(|probe| step::capture(Command::new(probe[0]).args(&probe[1..])).is_ok());
    if missing.is_empty() {
        return Ok(());
    }
    let is_root = rustix::process::geteuid().is_root();
    if !is_root || !Path::new("/usr/bin/apt-get").exists() {
        bail!("install these first (named as Debian's packages): {}", missing.join(" "));
    }
    step::run(Command::new("apt-get").arg("update"))?;
    let mut install = Command::new("apt-get");
    install.args(["install", "--yes", "--no-install-recommends"]).args(missing);
    step::run(install.env("DEBIAN_FRONTEND", "noninteractive"))
}

/// The packages whose programs do not answer.
fn missing(answers: impl Fn(&[&str]) -> bool) -> Vec<&'static str> {
    NEEDED.iter().filter(|needed| !answers(needed.probe)).map(|needed| needed.package).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_does_not_answer_is_installed() {
        assert_eq!(missing(|_| true), Vec::<&str>::new());
        assert_eq!(missing(|probe| probe[0] == "git"), ["npm", "chromium", "python3-venv"]);
    }
}

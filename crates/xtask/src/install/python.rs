//! Python packages, in an environment of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use super::marker;
use crate::step;

/// The machine's own interpreter.
pub const PYTHON: &str = "python3";

/// Puts what a `requirements.txt` with hashes names into an environment in `folder`; returns its interpreter.
pub fn python(folder: &Path, requirements: &Path) -> anyhow::Result<PathBuf> {
    let interpreter = folder.join("bin").join("python");
    let wanted =
        fs::read_to_string(requirements).with_context(|| format!("no {}", requirements.display()))?;
    // An environment belongs to the interpreter that made it.
    let version = step::capture(Command::new(PYTHON).arg("--version"))?;
    marker::once(folder, "Python's packages", &format!("{version}{wanted}"), || {
        environment(folder)?;
        let mut install = Command::new(&interpreter);
        // The list has everything that its packages need.
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
        install.args(["--require-hashes", "--requirement"]).arg(requirements);
        step::capture(&mut install).map(drop)
    })?;
    Ok(interpreter)
}

/// Makes an environment in a folder; returns its interpreter.
pub(super) fn environment(folder: &Path) -> anyhow::Result<PathBuf> {
    step::capture(Command::new(PYTHON).args(["-m", "venv"]).arg(folder))?;
    Ok(folder.join("bin").join("python"))
}

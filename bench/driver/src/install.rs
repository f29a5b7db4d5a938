//! Builds and installs what is measured: the product, the floors, the peers. What is there already is left alone.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use xtask::checkout::Checkout;
use xtask::{install, program, step};

/// Programs and scripts, ready to start.
pub(crate) struct Installed {
    /// `None` where only floors and peers were asked for.
    pub(crate) toolcrib: Option<PathBuf>,
    /// The folder with the floors and the Rust peer.
    pub(crate) yardsticks: PathBuf,
    /// Node.
    pub(crate) node: PathBuf,
    /// The TypeScript peer, beside its packages.
    pub(crate) ts_echo: PathBuf,
    /// The Python whose packages hold FastMCP.
    pub(crate) python: PathBuf,
    /// The gateway's script.
    pub(crate) fastmcp_proxy: PathBuf,
}

/// Makes sure that all of them are there. The peers' versions are those of the files beside their sources.
pub(crate) fn everything(checkout: &Checkout, with_toolcrib: bool) -> anyhow::Result<Installed> {
    let peers = checkout.root.join("bench").join("peers");
    let cache = checkout.cache().join("bench");
    let node = install::node(&checkout.cache())?;
    let packages = npm_pins(&read(&peers.join("ts-echo/package.json"))?)?;
    let modules = install::npm(cache.join("npm"), &node, &as_words(&packages))?;
    let requirements = python_pins(&read(&peers.join("fastmcp-proxy/requirements.txt"))?);
    let python = install::python(&cache, &as_words(&requirements))?;
    let toolcrib = with_toolcrib.then(|| program::build_dist(checkout)).transpose()?;
    Ok(Installed {
        toolcrib,
        yardsticks: yardsticks(checkout)?,
        node: node.program,
        ts_echo: beside(&modules, &peers.join("ts-echo/server.mjs"))?,
        python,
        fastmcp_proxy: peers.join("fastmcp-proxy/proxy.py"),
    })
}

/// Builds the workspace of floors and Rust peers into a folder of its own.
fn yardsticks(checkout: &Checkout) -> anyhow::Result<PathBuf> {
    let target = checkout.root.join("bench").join("target");
    let mut build =
        checkout.command("cargo", &["build", "--release", "--locked", "--manifest-path=bench/Cargo.toml"]);
    step::run(build.env("CARGO_TARGET_DIR", &target))?;
    Ok(target.join("release"))
}

/// Node looks for packages from where a script lies, so the script goes to them.
fn beside(modules: &Path, script: &Path) -> anyhow::Result<PathBuf> {
    let copy = modules.with_file_name("ts-echo.mjs");
    std::fs::copy(script, &copy).context("the TypeScript peer could not be copied to its packages")?;
    Ok(copy)
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{} could not be read", path.display()))
}

/// `name@version` of each dependency in a `package.json`.
fn npm_pins(manifest: &str) -> anyhow::Result<Vec<String>> {
    let manifest: serde_json::Value = serde_json::from_str(manifest)?;
    let dependencies = manifest["dependencies"].as_object().context("package.json has no dependencies")?;
    let pin = |(name, version): (&String, &serde_json::Value)| Some(format!("{name}@{}", version.as_str()?));
    dependencies.iter().map(|entry| pin(entry).context("a version is not a string")).collect()
}

fn python_pins(requirements: &str) -> Vec<String> {
    let lines = requirements.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

fn as_words(pins: &[String]) -> Vec<&str> {
    pins.iter().map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_read_from_the_peers_own_files() {
        let pins = npm_pins(r#"{"dependencies":{"a":"1.0.0","@b/c":"2.0.0"}}"#).expect("a manifest");
        assert_eq!(pins, ["@b/c@2.0.0", "a@1.0.0"]);
        assert_eq!(python_pins("# why\nfastmcp==1\n\n"), ["fastmcp==1"]);
        assert!(npm_pins("{}").is_err());
    }
}

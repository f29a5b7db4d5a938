//! Builds and installs what is measured: the product, the floors, the peers. What is there already is left alone.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use xtask::checkout::Checkout;
use xtask::{install, program, step};

/// Programs and scripts, ready to start.
#[derive(Clone)]
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
    /// The `node_modules` folder with other sandboxes.
    pub(crate) sandboxes: PathBuf,
}

/// Makes sure that all of them are there. The peers' versions are those of the lock files beside their sources.
pub(crate) fn everything(checkout: &Checkout, with_toolcrib: bool) -> anyhow::Result<Installed> {
    let peers = checkout.root.join("bench").join("peers");
    let cache = checkout.cache().join("bench");
    let node = install::node(checkout)?;
    let modules = install::npm(&cache.join("npm"), &node, &peers.join("ts-echo"))?;
    // Their rows say that they are not there.
    if let Err(error) = install::sandboxes(checkout.system) {
        println!("{error:#}");
    }
    let sandboxes = install::npm(&cache.join("sandboxes"), &node, &peers.join("sandboxes"))?;
    let python = install::python(&cache.join("python"), &peers.join("fastmcp-proxy/requirements.txt"))?;
    let toolcrib = with_toolcrib.then(|| program::build_dist(checkout)).transpose()?;
    Ok(Installed {
        toolcrib,
        yardsticks: yardsticks(checkout)?,
        node: node.program,
        ts_echo: beside(&modules, &peers.join("ts-echo/server.mjs"))?,
        python,
        fastmcp_proxy: peers.join("fastmcp-proxy/proxy.py"),
        sandboxes,
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

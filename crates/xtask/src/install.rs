//! `cargo xtask install`: what the tests need beyond cargo, at pinned versions, in `.cache/`.
//!
//! What is already there at its version is left alone, so every run after the first takes a moment. The
//! versions are in `e2e/packages` and [`pins`]; `marker.rs` makes an interrupted installation start afresh.

mod cargo_tools;
mod debian;
mod extended;
pub(crate) mod lock;
mod marker;
mod node;
pub mod pins;
mod python;
mod rust_client;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

pub use cargo_tools::cargo_tool;
pub use debian::sandboxes;
pub(crate) use debian::{musl, strace};
pub use extended::{ExtendedKit, extended_kit};
pub use node::{Node, node, npm};
pub use python::{PYTHON, python};
use rust_client::rust_client;

use crate::checkout::Checkout;

/// What the end-to-end cases run with.
pub struct Kit {
    /// Node, new enough for all of it.
    pub node: Node,
    /// The `node_modules` folder with the clients and servers of `e2e/packages`.
    pub npm: PathBuf,
    /// The interpreter whose packages are those of `e2e/packages`.
    pub python: PathBuf,
    /// The client on the Rust SDK.
    pub rust_client: PathBuf,
    /// The pinned compiler's own Cargo, which asks no front which one it is.
    pub cargo: PathBuf,
}

/// The two conformance suites, each the script to run with Node.
pub struct Suites {
    /// Node, new enough for both.
    pub node: Node,
    /// The newest that is released.
    pub released: PathBuf,
    /// The one that knows the newest revision.
    pub next: PathBuf,
}

pub(crate) fn run(checkout: &Checkout, _: &[String]) -> anyhow::Result<()> {
    everything(checkout)
}

/// The kit, then the cargo tools.
pub fn everything(checkout: &Checkout) -> anyhow::Result<()> {
    cargo_tools::components()?;
    std::thread::scope(|scope| {
        let kit = scope.spawn(|| kit(checkout));
        for tool in [&pins::CARGO_NEXTEST, &pins::CARGO_DENY] {
            cargo_tool(checkout, tool)?;
        }
        kit.join().expect("installing packages does not panic")
    })?;
    println!("everything the tests need is in place");
    Ok(())
}

/// The other side of the end-to-end cases. The two package managers wait for the network, while a compiler works.
pub fn kit(checkout: &Checkout) -> anyhow::Result<Kit> {
    debian::programs(checkout.system)?;
    let cache: &Path = &checkout.cache();
    std::thread::scope(|scope| {
        let python =
            scope.spawn(|| python(&cache.join("python"), &packages(checkout).join("requirements.txt")));
        let scripts = scope.spawn(|| scripts(checkout));
        let rust_client = rust_client(checkout)?;
        let (node, npm) = scripts.join().expect("installing packages does not panic")?;
        let python = python.join().expect("installing packages does not panic")?;
        Ok(Kit { node, npm, python, rust_client, cargo: cargo_tools::cargo(checkout)? })
    })
}

/// The conformance suites: one package, in two versions under names of our own.
pub fn suites(checkout: &Checkout) -> anyhow::Result<Suites> {
    let (node, modules) = scripts(checkout)?;
    let script = |package: &str| modules.join(package).join("dist").join("index.js");
    Ok(Suites { node, released: script("conformance-released"), next: script("conformance-next") })
}

/// What looks at scripts.
pub(crate) struct ScriptTools {
    pub(crate) biome: String,
    pub(crate) ruff: String,
    /// With Node in front, which Biome is started by.
    pub(crate) path: OsString,
}

/// Biome and Ruff, of the same packages as the rest.
pub(crate) fn script_tools(checkout: &Checkout) -> anyhow::Result<ScriptTools> {
    let (node, modules) = scripts(checkout)?;
    let python = python(&checkout.cache().join("python"), &packages(checkout).join("requirements.txt"))?;
    Ok(ScriptTools {
        biome: modules.join(".bin").join("biome").to_string_lossy().into_owned(),
        ruff: python.with_file_name("ruff").to_string_lossy().into_owned(),
        path: node.search_path()?,
    })
}

/// Node and the folder with everything from npm.
fn scripts(checkout: &Checkout) -> anyhow::Result<(Node, PathBuf)> {
    let node = node(checkout)?;
    let modules = npm(&checkout.cache().join("npm"), &node, &packages(checkout))?;
    Ok((node, modules))
}

/// Where it is written what is installed from npm and PyPI.
pub(crate) fn packages(checkout: &Checkout) -> PathBuf {
    checkout.root.join("e2e").join("packages")
}

impl Suites {
    /// How the two are called: the package and its version.
    pub(crate) fn versions(checkout: &Checkout) -> anyhow::Result<[String; 2]> {
        let file = packages(checkout).join("package.json");
        let text = fs::read_to_string(&file).with_context(|| format!("no {}", file.display()))?;
        let asked: serde_json::Value = serde_json::from_str(&text)?;
        let version = |name: &str| {
            let version = asked["dependencies"][name].as_str().and_then(|spec| spec.strip_prefix("npm:"));
            version.map(str::to_owned).with_context(|| format!("{} has no {name}", file.display()))
        };
        Ok([version("conformance-released")?, version("conformance-next")?])
    }
}

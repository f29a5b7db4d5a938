//! `cargo xtask install`: what the tests need beyond cargo, at pinned versions, in `.cache/`.
//!
//! What is already there at its version is left alone, so every run after the first takes a moment. The
//! versions are in [`pins`]; `marker.rs` makes an interrupted installation start afresh.

mod cargo_tools;
mod debian;
mod marker;
mod node;
pub mod pins;
mod python;
mod rust_client;

use std::path::{Path, PathBuf};

pub use cargo_tools::cargo_tool;
pub use node::{Node, node, npm};
pub use python::python;
use rust_client::rust_client;

use crate::checkout::Checkout;

/// What the end-to-end cases run with.
pub struct Kit {
    /// Node, new enough for all of it.
    pub node: Node,
    /// The `node_modules` folder with the clients and servers of [`pins::NPM`].
    pub npm: PathBuf,
    /// The interpreter whose packages are those of [`pins::PYTHON`].
    pub python: PathBuf,
    /// The client on the Rust SDK.
    pub rust_client: PathBuf,
}

/// The two conformance suites, each the script to run with Node.
pub struct Suites {
    /// Node, new enough for both.
    pub node: Node,
    /// [`pins::CONFORMANCE_RELEASED`].
    pub released: PathBuf,
    /// [`pins::CONFORMANCE_NEXT`].
    pub next: PathBuf,
}

pub(crate) fn run(checkout: &Checkout, _: &[String]) -> anyhow::Result<()> {
    everything(checkout)
}

/// The kit, then the cargo tools.
pub fn everything(checkout: &Checkout) -> anyhow::Result<()> {
    cargo_tools::components()?;
    kit(checkout)?;
    suites(checkout)?;
    // After the others: cargo takes both cores.
    for tool in [&pins::CARGO_NEXTEST, &pins::CARGO_DENY] {
        cargo_tool(checkout, tool)?;
    }
    println!("everything the tests need is in place");
    Ok(())
}

/// The other side of the end-to-end cases. The two package managers wait for the network, side by side.
pub fn kit(checkout: &Checkout) -> anyhow::Result<Kit> {
    debian::programs()?;
    let cache: &Path = &checkout.cache();
    let (node, npm, python) = std::thread::scope(|scope| {
        let python = scope.spawn(|| python(cache, pins::PYTHON));
        let node = node(cache)?;
        let npm = npm(cache.join("npm"), &node, pins::NPM)?;
        anyhow::Ok((node, npm, python.join().expect("installing packages does not panic")?))
    })?;
    // After the others: cargo takes both cores.
    Ok(Kit { node, npm, python, rust_client: rust_client(checkout)? })
}

/// The conformance suites. One package in two versions, so each lies in a folder of its own.
pub fn suites(checkout: &Checkout) -> anyhow::Result<Suites> {
    let cache = checkout.cache();
    let node = node(&cache)?;
    let script = |folder: &str, package: &str| {
        let modules = npm(cache.join(folder), &node, &[package])?;
        anyhow::Ok(modules.join("@modelcontextprotocol").join("conformance").join("dist").join("index.js"))
    };
    let released = script("conformance-0.1", pins::CONFORMANCE_RELEASED)?;
    let next = script("conformance-0.2", pins::CONFORMANCE_NEXT)?;
    Ok(Suites { node, released, next })
}

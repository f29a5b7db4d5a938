//! `cargo xtask install`: what the tests need beyond cargo, at pinned versions, in `.cache/`.
//!
//! What is already there at its version is left alone, so every run after the first takes a moment. The
//! versions are in [`pins`]; [`marker`] makes an interrupted installation start afresh.

mod cargo_tools;
mod debian;
mod marker;
mod node;
pub(crate) mod pins;
mod python;

use std::path::{Path, PathBuf};

pub(crate) use cargo_tools::cargo_tool;
pub(crate) use node::{Node, node, npm};
pub(crate) use python::python;

use crate::checkout::Checkout;

/// What the end-to-end cases run with.
pub(crate) struct Kit {
    pub(crate) node: Node,
    /// The `node_modules` folder with the clients and servers of [`pins::NPM`].
    pub(crate) npm: PathBuf,
    /// The interpreter whose packages are those of [`pins::PYTHON`].
    pub(crate) python: PathBuf,
}

pub(crate) fn run(checkout: &Checkout, _: &[String]) -> anyhow::Result<()> {
    everything(checkout)
}

/// The kit, then the cargo tools.
pub(crate) fn everything(checkout: &Checkout) -> anyhow::Result<()> {
    cargo_tools::components()?;
    kit(checkout)?;
    // After the others: cargo takes both cores.
    for tool in [&pins::CARGO_NEXTEST, &pins::CARGO_DENY] {
        cargo_tool(checkout, tool)?;
    }
    println!("everything the tests need is in place");
    Ok(())
}

/// The other side of the end-to-end cases. The two package managers wait for the network, side by side.
pub(crate) fn kit(checkout: &Checkout) -> anyhow::Result<Kit> {
    debian::programs()?;
    let cache: &Path = &checkout.cache();
    std::thread::scope(|scope| {
        let python = scope.spawn(|| python(cache, pins::PYTHON));
        let node = node(cache)?;
        let npm = npm(cache, &node, pins::NPM)?;
        let python = python.join().expect("installing packages does not panic")?;
        Ok(Kit { node, npm, python })
    })
}

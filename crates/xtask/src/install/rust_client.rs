//! The client on the Rust SDK, built from its source in `e2e/peers/rmcp-client`.

use std::path::PathBuf;

use crate::checkout::Checkout;
use crate::step;

/// Builds it into a folder of its own; returns the program. Its version is that of its own lock file.
pub(super) fn rust_client(checkout: &Checkout) -> anyhow::Result<PathBuf> {
    let target = checkout.cache().join("rust-client");
    let words = ["build", "--quiet", "--locked", "--manifest-path=e2e/peers/rmcp-client/Cargo.toml"];
    step::run(checkout.command("cargo", &words).env("CARGO_TARGET_DIR", &target))?;
    Ok(target.join("debug").join("rmcp-client"))
}

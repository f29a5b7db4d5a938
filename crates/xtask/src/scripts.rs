//! The format and the lints of what is not Rust: JavaScript by Biome, Python by Ruff, as the root's `biome.json` and
//! `ruff.toml` say.

use crate::checkout::Checkout;
use crate::{install, step};

/// Fails with what is not as it should be.
pub(crate) fn check(checkout: &Checkout) -> anyhow::Result<()> {
    let tools = install::script_tools(checkout)?;
    step::run(checkout.command(&tools.biome, &["ci", "--error-on-warnings"]).env("PATH", &tools.path))?;
    step::run(&mut checkout.command(&tools.ruff, &["check", "--no-cache"]))?;
    step::run(&mut checkout.command(&tools.ruff, &["format", "--check", "--no-cache"]))
}

/// Writes everything as it should be, and mends what can be mended without thinking.
pub(crate) fn run(checkout: &Checkout, _: &[String]) -> anyhow::Result<()> {
    let tools = install::script_tools(checkout)?;
    step::run(checkout.command(&tools.biome, &["check", "--write"]).env("PATH", &tools.path))?;
    step::run(&mut checkout.command(&tools.ruff, &["check", "--fix", "--no-cache"]))?;
    step::run(&mut checkout.command(&tools.ruff, &["format", "--no-cache"]))
}

//! `cargo xtask bench`: builds the driver in the folder `bench`, optimised, so that it does not measure itself, and starts it.

use crate::checkout::Checkout;
use crate::step;

pub(crate) fn run(checkout: &Checkout, arguments: &[String]) -> anyhow::Result<()> {
    let words = [
        "run",
        "--release",
        "--quiet",
        "--locked",
        "--manifest-path=bench/Cargo.toml",
        "--package=driver",
        "--",
    ];
    let mut command = checkout.command("cargo", &words);
    step::run(command.args(arguments).env("CARGO_TARGET_DIR", checkout.root.join("bench").join("target")))
}

//! The tests of confined programs that take long: each end three hundred times, and a fault at each system call on the way to
//! a start.

use crate::checkout::Checkout;
use crate::{install, step, test};

/// How often each way to end is tried.
const ROUNDS: &str = "300";

pub(crate) fn long(checkout: &Checkout) -> anyhow::Result<()> {
    install::strace(checkout.system)?;
    let words = [
        "nextest",
        "run",
        "--profile=long",
        "--package=sandbox",
        "--test=confine",
        "--run-ignored=all",
        "--locked",
    ];
    let mut command = checkout.command("cargo", &words);
    step::run(test::linting(&mut command).env("TOOLCRIB_TEST_ROUNDS", ROUNDS))
}

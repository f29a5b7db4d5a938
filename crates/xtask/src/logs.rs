//! The log of a program, of a whole gigabyte, and how little memory it takes.

use crate::checkout::Checkout;
use crate::{step, test};

/// How much the program prints, in MiB.
const LOG_MIB: &str = "1024";

pub(crate) fn long(checkout: &Checkout) -> anyhow::Result<()> {
    let words = ["nextest", "run", "--profile=long", "--workspace", "--locked", "--success-output=final"];
    let mut command = checkout.command("cargo", &words);
    command.args(["-E", "package(testkit) & test(a_long_log_of_a_program)"]);
    step::run(test::linting(&mut command).env("TOOLCRIB_TEST_LOG_MIB", LOG_MIB))
}

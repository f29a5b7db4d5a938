//! `cargo xtask quick`: what a developer runs before every commit. Under a minute when little changed.

use crate::checkout::Checkout;
use crate::step::{self, Step};
use crate::{test, tidy};

const STEPS: &[Step] = &[
    Step { name: "fmt", mend: "run `cargo fmt --all`", run: test::fmt },
    Step { name: "tidy", mend: "each line names a rule and a place", run: tidy::check },
    Step { name: "clippy", mend: "mend what it names", run: test::clippy },
    Step { name: "unit", mend: "the failing tests are named above", run: unit },
];

pub(crate) fn run(checkout: &Checkout, _: &[String]) -> anyhow::Result<()> {
    step::run_all(checkout, STEPS.iter())
}

fn unit(checkout: &Checkout) -> anyhow::Result<()> {
    let words = ["nextest", "run", "--workspace", "--lib", "--locked"];
    step::run(test::linting(&mut checkout.command("cargo", &words)))
}

//! `cargo xtask test [STEP…]`: everything CI runs, in the order of [`STEPS`], from the quickest refusal to the
//! slowest. Each step brings what it needs, so any of them may be run alone.

use std::process::Command;

use crate::checkout::Checkout;
use crate::program::{self, Program};
use crate::step::{self, Step};
use crate::{conformance, deny, docs, e2e, install, package, scripts, tidy};

const STEPS: &[Step] = &[
    Step { name: "install", mend: "check the network, then run it again", run: install::everything },
    Step { name: "fmt", mend: "run `cargo fmt --all`", run: fmt },
    Step { name: "scripts", mend: "run `cargo xtask scripts`, and mend what it leaves", run: scripts::check },
    Step { name: "clippy", mend: "mend what it names", run: clippy },
    Step { name: "tidy", mend: "each line names a rule and a place", run: tidy::check },
    Step { name: "release", mend: "the program does not build", run: release },
    Step { name: "nextest", mend: "the failing tests are named above", run: nextest },
    Step { name: "rustdoc", mend: "mend the links and comments it names", run: rustdoc },
    Step { name: "deny", mend: "`deny.toml` says what a dependency may be", run: deny::run },
    Step { name: "docs", mend: "run `cargo xtask docs` and read what changed", run: docs::check },
    Step { name: "selftest", mend: "what is listed is not what runs; it says where", run: selftest },
    Step { name: "package", mend: "it says which package is wrong", run: package::check },
    Step { name: "e2e", mend: "`cargo xtask e2e NAME` repeats one case", run: e2e::all },
    Step {
        name: "conformance",
        mend: "`cargo xtask conformance LEG` repeats one leg; it says where the results lie",
        run: conformance::all,
    },
];

pub(crate) fn run(checkout: &Checkout, names: &[String]) -> anyhow::Result<()> {
    step::run_named(checkout, STEPS, names)
}

pub(crate) fn fmt(checkout: &Checkout) -> anyhow::Result<()> {
    step::run(&mut checkout.command("cargo", &["fmt", "--all", "--check"]))
}

/// Builds all that is tested, with clippy as the compiler, so that what is linted need not be compiled a second time.
pub(crate) fn clippy(checkout: &Checkout) -> anyhow::Result<()> {
    step::run(linting(&mut checkout.command("cargo", &["test", "--no-run", "--workspace", "--locked"])))?;
    step::run(linting(&mut bench(checkout, &["test", "--no-run"])))
}

/// A warning of clippy, or of the compiler, is an error. This is how `cargo clippy` does it; it only never builds anything.
pub(crate) fn linting(cargo: &mut Command) -> &mut Command {
    cargo.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver").env("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__")
}

fn release(checkout: &Checkout) -> anyhow::Result<()> {
    program::build(checkout).map(drop)
}

fn nextest(checkout: &Checkout) -> anyhow::Result<()> {
    step::run(linting(&mut checkout.command("cargo", &["nextest", "run", "--workspace", "--locked"])))?;
    step::run(linting(&mut bench(checkout, &["nextest", "run"])))
}

/// Cargo on what drives the benchmarks, a workspace of its own.
fn bench(checkout: &Checkout, words: &[&str]) -> Command {
    let which = ["--manifest-path=bench/Cargo.toml", "--package=driver", "--locked"];
    let mut command = checkout.command("cargo", &[words, &which].concat());
    command.env("CARGO_TARGET_DIR", checkout.root.join("bench").join("target"));
    command
}

/// Public items only: a private item's comment is read in its file, where a broken link is no harm.
fn rustdoc(checkout: &Checkout) -> anyhow::Result<()> {
    let mut command = checkout.command("cargo", &["doc", "--workspace", "--no-deps", "--locked"]);
    step::run(command.env("RUSTDOCFLAGS", "-D warnings"))
}

fn selftest(checkout: &Checkout) -> anyhow::Result<()> {
    step::run(&mut Program::built(checkout)?.command(&["selftest"]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::System;

    #[test]
    fn an_unknown_step_is_refused_before_any_runs() {
        let checkout = Checkout { root: "/".into(), target: "/".into(), system: System::Name };
        let error = run(&checkout, &["fmt".into(), "clipy".into()]).expect_err("no such step");
        assert!(
            error.to_string().starts_with("there is no step `clipy`; the steps are: install fmt"),
            "{error}"
        );
    }
}

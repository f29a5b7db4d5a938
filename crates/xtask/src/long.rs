//! `cargo xtask long [STEP…]`: what finds the more the longer it goes on, and what need not hold before every change.

use crate::checkout::Checkout;
use crate::step::{self, Step};
use crate::{e2e, fuzz, logs, mutants, package, sandbox, toolchain};

const STEPS: &[Step] = &[
    case("killed", |checkout| e2e::long(checkout, "killed")),
    case("crashing_neighbour", |checkout| e2e::long(checkout, "crashing_neighbour")),
    case("crash_loop", |checkout| e2e::long(checkout, "crash_loop")),
    case("fronts", |checkout| e2e::long(checkout, "fronts")),
    Step {
        name: "sandbox",
        mend: "it names the call that failed, or the end that something survived",
        run: sandbox::long,
    },
    Step { name: "logs", mend: "it says how much memory it took, or which bytes differ", run: logs::long },
    case("pings_beside_bombs", |checkout| e2e::extended(checkout, "pings_beside_bombs")),
    case("other_clients", |checkout| e2e::extended(checkout, "other_clients")),
    case("other_servers", |checkout| e2e::extended(checkout, "other_servers")),
    case("agents", |checkout| e2e::extended(checkout, "agents")),
    Step {
        name: "fuzz",
        mend: "`cargo xtask fuzz TARGET` repeats one target",
        run: |checkout| fuzz::run(checkout, &[]),
    },
    Step {
        name: "mutants",
        mend: "write a test that fails on it, or a line in `.cargo/mutants.toml` that says why none should; \
               `cargo xtask mutants CRATE K/N` repeats a share",
        run: |checkout| mutants::run(checkout, &[]),
    },
    Step {
        name: "package",
        mend: "it says which package is wrong",
        run: |checkout| package::run(checkout, &[]),
    },
    Step { name: "toolchain", mend: "it says what is wrong", run: toolchain::newest },
];

/// An end-to-end case, for as long as it takes to believe it.
const fn case(name: &'static str, run: fn(&Checkout) -> anyhow::Result<()>) -> Step {
    Step { name, mend: "`cargo xtask long CASE` repeats one case", run }
}

pub(crate) fn run(checkout: &Checkout, names: &[String]) -> anyhow::Result<()> {
    step::run_named(checkout, STEPS, names)
}

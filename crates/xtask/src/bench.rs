//! `cargo xtask bench [PHASE…] [--quick] [--peers] [--instructions] [--out FILE]`: how fast the release build is,
//! beside floors and peers measured in the same run. The result is a page of tables; no time is ever asserted.
//!
//! The driver plays an MCP client over stdio and HTTP, on one thread and without an async runtime. [`phases`] is
//! the list of what it measures; the programs it measures against are in the folder `bench` of the checkout.

pub(crate) mod client;
mod counts;
pub(crate) mod http_client;
mod http_crowd;
mod http_response;
mod install;
mod machine;
mod message;
mod options;
mod phases;
mod placement;
mod proc_figures;
mod process;
mod programs;
mod report;
mod round;
mod slices;
mod stats;
mod stdio_client;
mod watchdog;

use anyhow::Context as _;

use crate::checkout::Checkout;
use crate::step;
use options::{Options, Output};
use programs::Programs;
use report::Report;
use slices::Budget;

/// What every phase is handed.
pub(crate) struct Bench {
    /// How to start what is measured.
    programs: Programs,
    /// How long to measure.
    budget: Budget,
    /// Whether to count instructions too, which takes minutes.
    instructions: bool,
}

/// Runs the phases named in `arguments`, or all of them.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let options = Options::parse(arguments)?;
    let checkout = Checkout::locate()?;
    if cfg!(debug_assertions) {
        // A driver without optimisation would measure itself.
        let words = ["run", "--release", "--quiet", "--locked", "--package", "xtask", "--", "bench"];
        return step::run(checkout.command("cargo", &words).args(arguments));
    }
    let installed = install::everything(&checkout, options.with_toolcrib)?;
    let bench = Bench {
        programs: Programs::new(installed)?,
        budget: options.budget(),
        instructions: options.instructions,
    };
    let raised = placement::prepare();
    let mut report = Report::new(machine::describe(raised)?);
    for phase in &options.phases {
        println!("… {}: {}", phase.name, phase.about);
        (phase.run)(&bench, &mut report).with_context(|| format!("phase {}", phase.name))?;
    }
    report.finish(machine::load());
    let page = report.page();
    println!("\n{page}");
    if let Output::File(path) = &options.output {
        let path = checkout.root.join(path);
        std::fs::write(&path, page).with_context(|| format!("{} could not be written", path.display()))?;
    }
    Ok(())
}

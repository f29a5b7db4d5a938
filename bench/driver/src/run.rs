//! One run: the phases that were asked for, and the page that they fill.

use anyhow::Context as _;

use crate::bench::Bench;
use crate::options::{Options, Output};
use crate::programs::Programs;
use crate::report::Report;
use crate::{install, machine, placement};
use xtask::checkout::Checkout;

/// Runs the phases named in `arguments`, or all of them.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let options = Options::parse(arguments)?;
    let checkout = Checkout::locate()?;
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

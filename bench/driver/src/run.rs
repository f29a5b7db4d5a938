//! One run: the phases that were asked for, and the page that they fill.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::bench::Bench;
use crate::install::Installed;
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
    let other = |file: &PathBuf| {
        let toolcrib = file.canonicalize().with_context(|| format!("{} is not there", file.display()))?;
        Programs::new(Installed { toolcrib: Some(toolcrib), ..installed.clone() })
    };
    let bench = Bench {
        beside: options.beside.as_ref().map(other).transpose()?,
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

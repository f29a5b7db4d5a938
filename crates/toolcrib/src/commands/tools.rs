//! `tools`: what is on offer, one tool in detail, and a call from the command line.

mod call;
mod list;
mod show;

pub(super) use call::arguments;
pub(super) use list::troubles;

use super::gated::{caller, with_crib};
use crate::assemble::Crib;
use crate::cli::{Cli, Tools};
use crate::ending::{Ending, Trouble};
use crate::nearest::nearest;
use crate::print;

pub(super) fn run(cli: &Cli, command: Tools) -> Result<Ending, Trouble> {
    // Before anything is started: arguments that cannot be read are the caller's mistake.
    let arguments = match &command {
        Tools::Call { arguments, .. } => Some(call::arguments(arguments)?),
        Tools::List | Tools::Show { .. } => None,
    };
    with_crib(cli, async |crib| match &command {
        Tools::List => list::run(crib, cli.json).await,
        Tools::Show { name } => show::run(crib, name, cli.json).await,
        Tools::Call { name, .. } => call::run(crib, name, arguments, cli.json).await,
    })
}

/// What a person may have meant by a name that is none, and which upstreams could not say what they have.
pub(super) fn unknown(crib: &Crib, name: &str) -> Trouble {
    let offer = crib.gate.catalog().offer();
    let known = offer.tools().iter().map(|tool| tool.definition().name.as_str());
    let mut said = match nearest(name, known) {
        Some(nearest) => format!("there is no tool `{name}`; did you mean `{nearest}`?"),
        None => format!("there is no tool `{name}`; `toolcrib tools list` names them all"),
    };
    for trouble in list::troubles(&crib.upstreams) {
        said.push_str(&format!("\n{trouble}"));
    }
    Trouble::Unknown { code: "unknown_tool", said: print::harmless(&said) }
}

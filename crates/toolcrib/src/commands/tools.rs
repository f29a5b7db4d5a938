//! `tools`: what is on offer, one tool in detail, and a call from the command line.

mod call;
mod check;
mod list;
mod show;

pub(super) use call::shown as outcome_shown;
pub(super) use call::text as result_text;
pub(super) use call::{arguments, json_given};

use gate::Earnest;
use gate::jobs::Wants;
use terminal::{Ending, Trouble};

use super::gated::with_crib;
use crate::cli::{Cli, Tools};

pub(super) fn run(cli: &Cli, command: Tools) -> Result<Ending, Trouble> {
    // Before anything is started: arguments that cannot be read are the caller's mistake.
    let arguments = match &command {
        Tools::Call { arguments, .. } | Tools::Check { arguments, .. } => Some(call::Given::read(arguments)?),
        Tools::List | Tools::Show { .. } => None,
    };
    let said = match &command {
        Tools::Call { request_id, context, .. } => {
            call::Said::read(request_id.as_deref(), context.as_deref())?
        }
        Tools::List | Tools::Show { .. } | Tools::Check { .. } => call::Said::default(),
    };
    if let Tools::Call { name, job: true, priority, retries, .. } = &command {
        let given = arguments.expect("a call has been read");
        let wants = Wants {
            priority: priority.unwrap_or_default(),
            retries: retries.unwrap_or_default(),
            ..Wants::default()
        };
        return call::as_job(cli, (name, given), wants, &said);
    }
    with_crib(cli, async move |crib| match &command {
        Tools::List => list::run(crib, cli.json).await,
        Tools::Show { name } => show::run(crib, name, cli.json).await,
        Tools::Check { name, .. } => {
            let given = arguments.expect("arguments have been read");
            check::run(crib, name, given, cli.json).await
        }
        Tools::Call { name, dry_run, plan, stream, .. } => {
            let given = arguments.expect("a call has been read");
            let earnest = Earnest::of(*dry_run, plan.clone());
            call::run(crib, (name, given), (earnest, said), (*stream, cli.json)).await
        }
    })
}

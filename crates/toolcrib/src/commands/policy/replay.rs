//! `policy replay`: the calls of the audit log that would be decided differently.

use admin::audit_log::LINES_MAX;
use admin::policy::{Now, Replay, Replayed, ReplayedCall, Ruled};
use admin::{By, Operation as _};
use daemon::administration;
use terminal::times::time_ms;
use terminal::{Ending, Trouble, print, times};

use crate::cli::{Cli, PolicyReplay as Asked};
use crate::commands::start::start_nobody;

/// Calls that are shown; all are counted.
const SHOWN_MAX: usize = 200;

pub(super) fn run(cli: &Cli, asked: &Asked) -> Result<Ending, Trouble> {
    let Asked { policy, since, last, offline } = asked.clone();
    let since_ms = since.map(|since| time_ms("--since", &since)).transpose()?;
    let last = if since_ms.is_some() { LINES_MAX } else { last };
    let replay = Replay { policy, since_ms, last, offline };
    let replayed = replay.perform(&administration::policy(&start_nobody(cli)?), &By::owner())?;
    let Replayed { calls, same, differ, depend, undecided } = &replayed;
    let all = same + differ + depend + undecided;
    let mut words = format!(
        "{all} calls: {same} as before, {differ} differently, {depend} that depend on what the audit log does not hold, \
         {undecided} that the policy had no say in"
    );
    if !calls.is_empty() {
        let rows = calls.iter().take(SHOWN_MAX).map(row);
        words = format!("{}\n{words}", print::Table::titled(["WHEN", "CALLER", "TOOL", "THEN", "NOW"], rows));
    }
    print::found(cli.json, &replayed, &words)?;
    if let Some(more) = calls.len().checked_sub(SHOWN_MAX).filter(|more| *more > 0 && !cli.json) {
        print::remark(&format!("and {more} more; --json shows them"));
    }
    Ok(Ending::Good)
}

fn row(call: &ReplayedCall) -> Vec<String> {
    let ruled = |Ruled { effect, rule }: &Ruled| format!("{effect} by {rule}");
    let now = match &call.now {
        Now::Ruled(now) => ruled(now),
        Now::Depends { depends_on } => format!("depends on {depends_on}"),
    };
    vec![times::shown(call.opened_at_ms), call.caller.clone(), call.tool.clone(), ruled(&call.then), now]
}

//! `mcp reload`: has every running Toolcrib read its configuration again, and says what each of them did.

use admin::servers::{Reload, ReloadedToolcrib};
use admin::{By, Operation as _, Refused, Reloaded};
use daemon::administration;
use daemon::control::Neighbours;
use terminal::{Ending, Trouble, print};

use crate::cli::Cli;
use crate::commands::start::start_nobody;

pub(super) fn run(cli: &Cli) -> Result<Ending, Trouble> {
    let loaded = start_nobody(cli)?;
    let part = administration::servers(&loaded, Neighbours::on(&loaded.settings.state));
    let report = Reload {}.perform(&part, &By::owner())?;
    if cli.json {
        print::json(&report)?;
    }
    if report.toolcribs.is_empty() {
        let what = "no Toolcrib is running on this state folder, so there is nothing to reload; \
                    the next one reads the configuration when it starts";
        return Err(Trouble::Failed(what.to_owned()));
    }
    if !cli.json {
        for one in &report.toolcribs {
            match &one.refused {
                None => print::foreign(&to_text(one))?,
                Some(_) => print::remark(&print::harmless(&to_text(one))),
            }
        }
    }
    Ok(ending(&report.toolcribs))
}

/// The worst of what they answer.
fn ending(toolcribs: &[ReloadedToolcrib]) -> Ending {
    let refused: Vec<&Refused> = toolcribs.iter().filter_map(|one| one.refused.as_ref()).collect();
    match refused.iter().any(|refused| matches!(refused, Refused::Problems(_))) {
        true => Ending::Misused,
        false if refused.is_empty() => Ending::Good,
        false => Ending::Failed,
    }
}

fn to_text(one: &ReloadedToolcrib) -> String {
    let answer = match &one.refused {
        None => summary(&one.reloaded.clone().unwrap_or_default()),
        Some(Refused::Problems(problems)) => {
            format!("the configuration cannot be used, and nothing has changed:\n{}", problems.join("\n"))
        }
        Some(Refused::Because(why)) => format!("not reloaded: {why}"),
    };
    format!("process {}: {answer}", one.pid)
}

/// What it did, in one line, and another for what it did not.
fn summary(reloaded: &Reloaded) -> String {
    let Reloaded { added, removed, changed, unchanged, in_force, next_start } = reloaded;
    let lists = [("added", added), ("changed", changed), ("removed", removed), ("unchanged", unchanged)];
    let changes = lists.into_iter().filter(|(_, names)| !names.is_empty());
    let changes: Vec<String> = changes.map(|(what, names)| format!("{what} {}", names.join(", "))).collect();
    let changes =
        if changes.is_empty() { "no servers, before and now".to_owned() } else { changes.join("; ") };
    let also = [(in_force, "that is in force now"), (next_start, "that takes effect at the next start")];
    let also = also.into_iter().filter(|(sections, _)| !sections.is_empty());
    let also = also.map(|(sections, since)| format!("\n  {} changed, too; {since}", sections.join(", ")));
    format!("{changes}{}", also.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_did_is_said_and_decides_the_ending() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let reloaded = Reloaded {
            added: names(&["a", "b"]),
            changed: names(&["c"]),
            removed: Vec::new(),
            unchanged: names(&["d"]),
            in_force: names(&["[policy]"]),
            next_start: names(&["[log]", "[server]"]),
        };
        let problems = Refused::Problems(names(&["x.toml:1:1: unknown key", "x.toml:2:1: worse"]));
        let cases = [
            (
                Ok(reloaded),
                "process 7: added a, b; changed c; unchanged d\n  [policy] changed, too; that is in force now\n  [log], [server] changed, too; that takes effect at \
                 the next start",
                Ending::Good,
            ),
            (Ok(Reloaded::default()), "process 7: no servers, before and now", Ending::Good),
            (
                Err(problems),
                "process 7: the configuration cannot be used, and nothing has changed:\nx.toml:1:1: unknown key\n\
                 x.toml:2:1: worse",
                Ending::Misused,
            ),
            (
                Err(Refused::Because("it is ending".to_owned())),
                "process 7: not reloaded: it is ending",
                Ending::Failed,
            ),
        ];
        for (answer, text, expected) in cases {
            let (reloaded, refused) = (answer.clone().ok(), answer.err());
            let one = ReloadedToolcrib { pid: 7, reloaded, refused };
            assert_eq!(to_text(&one), text);
            assert_eq!(ending(std::slice::from_ref(&one)), expected, "{text}");
        }
    }
}

//! `mcp list`: the servers that are configured, where each is, how it is doing, and which file it stands in. Nothing
//! is started: what is known comes from the Toolcribs that are running and from what earlier runs remember.

use std::path::Path;

use admin::servers::{List, ListedServer, NO_SERVERS, RememberedServer};
use admin::{By, Operation as _};
use daemon::administration;
use daemon::control::Neighbours;
use terminal::paint::{Painted, Words as _};
use terminal::{Ending, Trouble, print};
use upstream::State;

use super::reported::{age, confinement, counted, in_short};
use crate::cli::Cli;
use crate::commands::start::start_nobody;
use crate::commands::trust;

pub(super) fn run(cli: &Cli) -> Result<Ending, Trouble> {
    let loaded = start_nobody(cli)?;
    let part = administration::servers(&loaded, Neighbours::on(&loaded.settings.state));
    let found = List {}.perform(&part, &By::owner())?;
    found.silent.iter().for_each(|line| print::remark(&print::harmless(line)));
    let words = if found.servers.is_empty() { NO_SERVERS.painted() } else { table(&found.servers) };
    print::found(cli.json, &found, &words)?;
    trust::line(&loaded.held).iter().for_each(|line| print::remark(line));
    Ok(Ending::Good)
}

/// How it is doing, for people.
pub(super) fn status(listed: &ListedServer) -> String {
    if !listed.enabled {
        return State::Disabled.to_string();
    }
    let remembered = |known: &RememberedServer| {
        format!("remembered, {}, {}", counted(u64::try_from(known.tools).ok()), age(known.age_ms))
    };
    let mut parts: Vec<String> = match listed.running.as_slice() {
        [] => listed.remembered.iter().map(remembered).collect(),
        [one] => vec![in_short(&one.report)],
        several => {
            several.iter().map(|one| format!("{} (process {})", in_short(&one.report), one.pid)).collect()
        }
    };
    // Of one that is not, nothing is parts: whether it wants that is known when it was asked.
    if listed.signed_in == Some(true) {
        parts.push("signed in".to_owned());
    }
    if parts.is_empty() { "not connected yet".to_owned() } else { parts.join(", ") }
}

/// How its program is confined, for people: as it is where it runs, else as its table says.
pub(super) fn sandbox(listed: &ListedServer) -> String {
    let running = listed.running.iter().filter_map(|one| one.report.facts.sandbox.as_ref());
    let weakest = running.max_by_key(|facts| facts.without.len());
    confinement(weakest.or(listed.sandbox.as_ref()))
}

fn table(listed: &[ListedServer]) -> Painted {
    let here = std::env::current_dir().unwrap_or_default();
    let row = |one: &ListedServer| {
        let file = one.file.as_deref().map_or("", |file| {
            Path::new(file).strip_prefix(&here).ok().and_then(Path::to_str).unwrap_or(file)
        });
        vec![
            one.name.clone(),
            one.transport.clone(),
            status(one),
            sandbox(one),
            file.to_owned(),
            one.place.clone(),
        ]
    };
    let titles = ["NAME", "TRANSPORT", "STATUS", "SANDBOX", "FILE", "WHERE"];
    print::Table::titled(titles, listed.iter().map(row)).with_states_in(2).painted()
}

#[cfg(test)]
mod tests {
    use admin::servers::{RunningServer, ServerReport};
    use serde_json::{Value, json};

    use super::*;

    fn listed() -> ListedServer {
        ListedServer {
            name: "git".to_owned(),
            transport: "stdio".to_owned(),
            place: "mcp-git".to_owned(),
            enabled: true,
            running: Vec::new(),
            remembered: None,
            sandbox: None,
            signed_in: None,
            file: None,
        }
    }

    fn in_use(pid: u32, report: Value) -> RunningServer {
        RunningServer { pid, report: ServerReport::of(report) }
    }

    #[test]
    fn how_it_is_confined_is_told_as_it_runs_or_as_it_is_written() {
        let facts = |profile: &str, without: &[&str]| json!({ "profile": profile, "without": without, "refused": [] });
        let written = |profile| serde_json::from_value(facts(profile, &[])).expect("facts");
        let runs = |pid, sandbox: Value| in_use(pid, json!({ "name": "git", "sandbox": sandbox }));
        for (written, running, expected) in [
            (None, vec![], "-"),
            (Some(written("confined")), vec![], "confined"),
            (Some(written("open")), vec![], "open"),
            // One that was started before its table was changed.
            (Some(written("confined")), vec![runs(7, facts("open", &[]))], "open"),
            (
                Some(written("confined")),
                vec![runs(7, facts("degraded", &["landlock", "loopback"])), runs(8, facts("confined", &[]))],
                "degraded, without landlock and loopback",
            ),
            (Some(written("confined")), vec![in_use(7, json!({ "name": "git" }))], "confined"),
        ] {
            assert_eq!(sandbox(&ListedServer { sandbox: written, running, ..listed() }), expected);
        }
    }

    #[test]
    fn a_status_says_what_is_known() {
        let remembered = |tools, age_ms| Some(RememberedServer { tools, age_ms });
        let connected = || json!({ "state": { "status": "connected" }, "tools": 1 });
        let held = || json!({ "state": { "status": "connected" }, "tools": 1, "held_back": 2 });
        let failed = || json!({ "state": { "status": "failed", "error": "gone" } });
        for (listed, expected) in [
            (listed(), "not connected yet"),
            (ListedServer { enabled: false, remembered: remembered(3, 0), ..listed() }, "disabled"),
            (
                ListedServer { remembered: remembered(3, 300_000), ..listed() },
                "remembered, 3 tools, 5 min old",
            ),
            (
                ListedServer { remembered: remembered(0, 59_999), signed_in: Some(true), ..listed() },
                "remembered, 0 tools, new, signed in",
            ),
            (
                ListedServer {
                    running: vec![in_use(7, connected())],
                    remembered: remembered(3, 0),
                    ..listed()
                },
                "connected, 1 tool",
            ),
            (ListedServer { running: vec![in_use(7, held())], ..listed() }, "connected, 1 tool, 2 held back"),
            (ListedServer { running: vec![in_use(7, failed())], ..listed() }, "failed: gone"),
            (
                ListedServer { running: vec![in_use(7, failed()), in_use(8, connected())], ..listed() },
                "failed: gone (process 7), connected, 1 tool (process 8)",
            ),
            (
                ListedServer {
                    running: vec![in_use(7, json!({ "state": { "status": "needs_auth" } }))],
                    signed_in: Some(false),
                    ..listed()
                },
                "needs auth",
            ),
        ] {
            assert_eq!(status(&listed), expected);
        }
    }
}

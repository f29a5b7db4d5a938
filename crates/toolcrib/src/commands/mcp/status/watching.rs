//! `mcp status --watch`: how everything is, and then a line for each change, until the processes end.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

use admin::servers::{ServerFacts, ServerStatus, ToolcribStatus};
use admin::{Answered, Running};
use serde_json::{Value, json};
use terminal::times::now_ms;
use terminal::{Ending, Trouble, print, times};

use super::shown::to_text;
use crate::commands::mcp::reported::{error, label, status};

/// How often every process is asked: what comes and goes in between is not seen.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Prints what happens to the servers of these names, or all if there is none.
pub(super) fn run(running: &dyn Running, names: &[String], json: bool) -> Result<Ending, Trouble> {
    let mut known = BTreeMap::new();
    loop {
        let mut now = BTreeMap::new();
        for Answered { pid, answer } in running.status()? {
            // One that does not say anything just now is as it was.
            let toolcrib = answer.map(|running| ToolcribStatus::of(running, names)).ok();
            now.extend(toolcrib.or_else(|| known.remove(&pid)).map(|toolcrib| (pid, toolcrib)));
        }
        for line in lines(&known, &now, json) {
            print::foreign(&line)?;
        }
        if now.is_empty() {
            return Ok(Ending::Good);
        }
        known = now;
        sleep(LOOK_EVERY);
    }
}

/// What is printed of what has changed.
fn lines(
    known: &BTreeMap<u32, ToolcribStatus>,
    now: &BTreeMap<u32, ToolcribStatus>,
    json: bool,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (pid, toolcrib) in now {
        match known.get(pid) {
            Some(before) => lines.extend(changes(*pid, before, toolcrib, json)),
            None if json => lines.push(json!(toolcrib).to_string()),
            None => lines.push(to_text(toolcrib, true, now_ms()).to_string()),
        }
    }
    lines.extend(known.keys().filter(|pid| !now.contains_key(pid)).map(|pid| match json {
        true => json!({ "pid": pid, "ended": true }).to_string(),
        false => format!("process {pid} has ended"),
    }));
    lines
}

/// The servers that are not as they were `before`, new ones and those that are gone among them.
fn changes(pid: u32, before: &ToolcribStatus, now: &ToolcribStatus, json: bool) -> Vec<String> {
    let by_label = |all: &ToolcribStatus| -> BTreeMap<String, ServerStatus> {
        all.servers.iter().map(|server| (label(&server.facts), server.clone())).collect()
    };
    let (before, now) = (by_label(before), by_label(now));
    // Whether it does otherwise than before, or was connected to anew meanwhile.
    let seen = |server: &ServerStatus| (status(&server.state), error(server), server.facts.fetched_at_ms);
    let changed = now.iter().filter(|(label, server)| before.get(*label).map(seen) != Some(seen(server)));
    let changed = changed.map(|(_, server)| {
        let what = [status(&server.state), error(server)].join(": ");
        change(pid, &server.facts, what.trim_end_matches(": "), json.then(|| json!(server)))
    });
    let gone = before.iter().filter(|(label, _)| !now.contains_key(*label));
    let gone = gone.map(|(_, ServerStatus { facts, .. })| {
        let mut removed = json!({ "name": facts.name, "status": "removed" });
        if let Some(workspace) = &facts.workspace {
            removed["workspace"] = json!(workspace);
        }
        change(pid, facts, "removed", json.then_some(removed))
    });
    changed.chain(gone).collect()
}

fn change(pid: u32, facts: &ServerFacts, what: &str, object: Option<Value>) -> String {
    let at_ms = now_ms();
    match object {
        Some(mut change) => {
            change["pid"] = pid.into();
            change["at_ms"] = at_ms.into();
            change.to_string()
        }
        None => format!("{}  process {pid}  {}  {what}", times::shown(at_ms), label(facts)),
    }
}

#[cfg(test)]
mod tests {
    use admin::Toolcrib;

    use super::*;

    fn toolcrib(upstreams: &Value) -> ToolcribStatus {
        let upstreams = serde_json::from_value(upstreams.clone()).expect("reports");
        let (door, configuration) = ("stdio".into(), Vec::new());
        ToolcribStatus::of(Toolcrib { pid: 7, door, configuration, upstreams, health: None }, &[])
    }

    #[track_caller]
    fn check(before: Value, now: Value, text: &[&str], json: &[&str]) {
        let known = BTreeMap::from([(7, toolcrib(&before))]);
        let now = BTreeMap::from([(7, toolcrib(&now))]);
        let without_time =
            |line: &String| line.split_once("Z  ").map_or(line.clone(), |(_, rest)| rest.into());
        assert_eq!(lines(&known, &now, false).iter().map(without_time).collect::<Vec<_>>(), text);
        let changes = lines(&known, &now, true).into_iter().map(|line| {
            let mut change: Value = serde_json::from_str(&line).expect("JSON");
            let change = change.as_object_mut().expect("an object");
            change.remove("at_ms").expect("a time");
            change.retain(|name, value| !value.is_null() && !["stale", "transport"].contains(&&**name));
            json!(change).to_string()
        });
        assert_eq!(changes.collect::<Vec<_>>(), json);
    }

    #[test]
    fn a_line_for_each_change() {
        let server = |name: &str, state: Value| json!({ "name": name, "state": state });
        let (good, bad) = (json!({ "status": "connected" }), json!({ "status": "failed", "error": "gone" }));
        check(json!([server("git", good.clone())]), json!([server("git", good.clone())]), &[], &[]);
        check(
            json!([server("fs", good.clone()), server("git", good.clone())]),
            json!([server("fs", good.clone()), server("git", bad)]),
            &["process 7  git  failed: gone; `toolcrib mcp test git` says more"],
            &[r#"{"error":"gone","name":"git","pid":7,"status":"failed"}"#],
        );
        check(
            json!([server("git", good.clone())]),
            json!([]),
            &["process 7  git  removed"],
            &[r#"{"name":"git","pid":7,"status":"removed"}"#],
        );
        let apart = json!({ "name": "git", "workspace": "docs", "state": good });
        check(
            json!([server("git", good.clone()), apart]),
            json!([server("git", good.clone())]),
            &["process 7  git (docs)  removed"],
            &[r#"{"name":"git","pid":7,"status":"removed","workspace":"docs"}"#],
        );
        check(
            json!([]),
            json!([server("git", good)]),
            &["process 7  git  connected"],
            &[r#"{"name":"git","pid":7,"status":"connected"}"#],
        );
    }

    #[test]
    fn processes_come_and_go() {
        let one =
            BTreeMap::from([(7, toolcrib(&json!([{ "name": "git", "state": { "status": "connecting" } }])))]);
        let text = lines(&BTreeMap::new(), &one, false).concat();
        assert!(text.starts_with("process 7, stdio, no configuration\nNAME"), "{text}");
        assert_eq!(lines(&BTreeMap::new(), &one, true).concat().lines().count(), 1);
        assert_eq!(lines(&one, &BTreeMap::new(), false), ["process 7 has ended"]);
        assert_eq!(lines(&one, &BTreeMap::new(), true), [r#"{"ended":true,"pid":7}"#]);
    }
}

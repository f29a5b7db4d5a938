//! `mcp status --watch`: how everything is, and then a line for each change, until the processes end.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use daemon::control::{self, Asked};
use serde_json::json;
use terminal::times::now_ms;
use terminal::{Ending, Trouble, print, times};
use tokio::time::sleep;

use super::shown::Section;
use crate::commands::mcp::reported::ReportedServer;

/// How often every process is asked: what comes and goes in between is not seen.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Prints what happens to the servers of these names, or all if there is none.
pub(super) async fn run(state: &Path, names: &[String], json: bool) -> Result<Ending, Trouble> {
    let mut known = BTreeMap::new();
    loop {
        let mut now = BTreeMap::new();
        for Asked { pid, answer } in control::running(state).await {
            // One that does not say anything just now is as it was.
            let section = answer.map(|running| Section::of(&running, names)).ok();
            now.extend(section.or_else(|| known.remove(&pid)).map(|section| (pid, section)));
        }
        for line in lines(&known, &now, json) {
            print::foreign(&line)?;
        }
        if now.is_empty() {
            return Ok(Ending::Good);
        }
        known = now;
        sleep(LOOK_EVERY).await;
    }
}

/// What is printed of what has changed.
fn lines(known: &BTreeMap<u32, Section>, now: &BTreeMap<u32, Section>, json: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for (pid, section) in now {
        match known.get(pid) {
            Some(before) => lines.extend(section.changes(before).map(|server| change(*pid, &server, json))),
            None if json => lines.push(section.to_json().to_string()),
            None => lines.push(section.to_text(true)),
        }
    }
    lines.extend(known.keys().filter(|pid| !now.contains_key(pid)).map(|pid| match json {
        true => json!({ "pid": pid, "ended": true }).to_string(),
        false => format!("process {pid} has ended"),
    }));
    lines
}

fn change(pid: u32, server: &ReportedServer, json: bool) -> String {
    let at_ms = now_ms();
    if json {
        let mut change = server.to_json();
        change["pid"] = pid.into();
        change["at_ms"] = at_ms.into();
        return change.to_string();
    }
    let what = [server.status(), server.error()].join(": ");
    let what = what.trim_end_matches(": ");
    format!("{}  process {pid}  {}  {what}", times::shown(at_ms), server.label())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use daemon::control::Running;

    fn section(upstreams: &Value) -> Section {
        let upstreams = upstreams.as_array().expect("a list").clone();
        Section::of(&Running { pid: 7, door: "stdio".into(), configuration: Vec::new(), upstreams }, &[])
    }

    #[track_caller]
    fn check(before: Value, now: Value, text: &[&str], json: &[&str]) {
        let known = BTreeMap::from([(7, section(&before))]);
        let now = BTreeMap::from([(7, section(&now))]);
        let without_time =
            |line: &String| line.split_once("Z  ").map_or(line.clone(), |(_, rest)| rest.into());
        assert_eq!(lines(&known, &now, false).iter().map(without_time).collect::<Vec<_>>(), text);
        let changes = lines(&known, &now, true).into_iter().map(|line| {
            let mut change: Value = serde_json::from_str(&line).expect("JSON");
            change.as_object_mut().expect("an object").remove("at_ms").expect("a time");
            change.to_string()
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
            BTreeMap::from([(7, section(&json!([{ "name": "git", "state": { "status": "connecting" } }])))]);
        let text = lines(&BTreeMap::new(), &one, false).concat();
        assert!(text.starts_with("process 7, stdio, no configuration\nNAME"), "{text}");
        assert_eq!(lines(&BTreeMap::new(), &one, true).concat().lines().count(), 1);
        assert_eq!(lines(&one, &BTreeMap::new(), false), ["process 7 has ended"]);
        assert_eq!(lines(&one, &BTreeMap::new(), true), [r#"{"ended":true,"pid":7}"#]);
    }
}

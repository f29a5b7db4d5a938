//! `mcp status --watch`: how everything is, and then a line for each change, until the processes end.

use std::path::Path;

use serde_json::json;

use super::shown::{Section, is_wanted};
use crate::commands::mcp::reported::ReportedServer;
use crate::control::{self, Heard};
use crate::ending::{Ending, Trouble};
use crate::times::now_ms;
use crate::{print, times};

/// Prints what happens to the servers of these names, or all if there is none.
pub(super) async fn run(state: &Path, names: &[String], json: bool) -> Result<Ending, Trouble> {
    let mut watched = control::watch(state);
    let mut ending = Ending::Good;
    while let Some((pid, event)) = watched.next().await {
        if let Heard::Refused(why) = &event {
            print::remark(&print::harmless(&format!("process {pid} cannot be watched: {why}")));
            ending = Ending::Failed;
        }
        if let Some(line) = line(pid, &event, names, json) {
            print::foreign(&line)?;
        }
    }
    Ok(ending)
}

/// What is printed of an event of a process.
fn line(pid: u32, event: &Heard, names: &[String], json: bool) -> Option<String> {
    let line = match event {
        Heard::All(running) => {
            let section = Section::of(running, names);
            if json { section.to_json().to_string() } else { section.to_text(true) }
        }
        Heard::Change(report) => {
            let server = ReportedServer::of(report);
            if !is_wanted(server.name(), names) {
                return None;
            }
            let at_ms = report["at_ms"].as_i64().unwrap_or_else(now_ms);
            if json {
                let mut change = server.to_json();
                change["pid"] = pid.into();
                change["at_ms"] = at_ms.into();
                change.to_string()
            } else {
                let what = [server.status(), server.error()].join(": ");
                let what = what.trim_end_matches(": ");
                format!("{}  process {pid}  {}  {what}", times::shown(at_ms), server.name())
            }
        }
        Heard::Refused(_) => return None,
        Heard::End if json => json!({ "pid": pid, "ended": true }).to_string(),
        Heard::End => format!("process {pid} has ended"),
    };
    Some(line)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::control::Running;

    #[test]
    fn a_line_for_each_change() {
        let status = |name: &str, state: Value| {
            Heard::Change(json!({ "name": name, "state": state, "at_ms": 1_700_000_000_000_i64 }))
        };
        let failed = json!({ "status": "failed", "error": "gone" });
        let cases = [
            (
                status("git", failed.clone()),
                Some("2023-11-14T22:13:20Z  process 7  git  failed: gone; `toolcrib mcp test git` says more"),
                Some(r#"{"at_ms":1700000000000,"error":"gone","name":"git","pid":7,"status":"failed"}"#),
            ),
            (
                status("git", json!({ "status": "removed" })),
                Some("2023-11-14T22:13:20Z  process 7  git  removed"),
                Some(r#"{"at_ms":1700000000000,"name":"git","pid":7,"status":"removed"}"#),
            ),
            (status("fs", failed), None, None),
            (Heard::End, Some("process 7 has ended"), Some(r#"{"ended":true,"pid":7}"#)),
        ];
        for (event, text, json) in cases {
            let names = ["git".to_owned()];
            assert_eq!(line(7, &event, &names, false).as_deref(), text, "{event:?}");
            assert_eq!(line(7, &event, &names, true).as_deref(), json, "{event:?}");
        }
        let upstreams = vec![json!({ "name": "git", "state": { "status": "connecting" } })];
        let all = Heard::All(Running { pid: 7, door: "stdio".into(), configuration: Vec::new(), upstreams });
        let text = line(7, &all, &[], false).expect("a table");
        assert!(text.starts_with("process 7, stdio, no configuration\nNAME"), "{text}");
        assert_eq!(line(7, &all, &[], true).expect("an object").lines().count(), 1);
    }
}

//! How the servers of one Toolcrib are doing, for people.

use admin::servers::{NO_SERVERS, ServerStatus, ToolcribStatus};
use admin::{Health, JobCounts};
use terminal::paint::{Painted, Words as _};
use terminal::print;

use crate::commands::mcp::reported::{age, confinement, error, is_good, label, status};

const HEAD: [&str; 10] = [
    "NAME",
    "TRANSPORT",
    "STATUS",
    "SANDBOX",
    "TOOLS",
    "PROMPTS",
    "RESOURCES",
    "HELD BACK",
    "AGE",
    "LAST ERROR",
];

/// True if no server needs somebody to do something.
pub(super) fn are_good(toolcrib: &ToolcribStatus) -> bool {
    toolcrib.servers.iter().all(|server| is_good(&server.state))
}

/// A table, below a line that says whose it is if that is wanted, and above one that says how it is doing itself.
pub(super) fn to_text(toolcrib: &ToolcribStatus, titled: bool, now_ms: i64) -> Painted {
    let title = if titled { title(toolcrib) } else { String::new() };
    let health = toolcrib.health.as_ref().map(doing).unwrap_or_default();
    if toolcrib.servers.is_empty() {
        return format!("{title}{NO_SERVERS}{health}").painted();
    }
    let rows = toolcrib.servers.iter().map(|server| row(server, now_ms));
    let table = print::Table::titled(HEAD, rows).with_states_in(2).painted();
    title.painted().and(table).and(health.painted())
}

fn doing(Health { status, problem, version, uptime_s, tools, jobs }: &Health) -> String {
    let status = status.replace('_', " ");
    let problem = problem.as_ref().map(|problem| format!("\n{problem}")).unwrap_or_default();
    let JobCounts { queued, running, waiting } = jobs;
    format!(
        "\n{status}, version {version}, up {uptime_s} s, {tools} tools, jobs: {queued} queued, {running} running, {waiting} waiting{problem}"
    )
}

fn title(ToolcribStatus { pid, door, configuration, .. }: &ToolcribStatus) -> String {
    let (Some(pid), Some(door)) = (pid, door) else { return String::new() };
    let files = configuration.iter().flatten().map(String::as_str).collect::<Vec<_>>().join(", ");
    let files = if files.is_empty() { "no configuration" } else { &files };
    format!("process {pid}, {door}, {files}\n")
}

fn row(server: &ServerStatus, now_ms: i64) -> Vec<String> {
    let ServerStatus { state, facts } = server;
    let count = |count: Option<u64>| count.map_or("-".to_owned(), |count| count.to_string());
    let age = facts.fetched_at_ms.map(|fetched| age(now_ms.saturating_sub(fetched)));
    let stale = if facts.stale { ", stale" } else { "" };
    vec![
        label(facts),
        facts.transport.clone(),
        status(state),
        confinement(facts.sandbox.as_ref()),
        count(facts.tools),
        count(facts.prompts),
        count(facts.resources),
        count(facts.held_back),
        age.map_or("-".to_owned(), |age| format!("{age}{stale}")),
        error(server),
    ]
}

#[cfg(test)]
mod tests {
    use admin::servers::ServerReport;
    use admin::{Health, JobCounts, Toolcrib};
    use expect_test::expect;
    use serde_json::{Value, json};

    use super::*;

    const NOW_MS: i64 = 1_700_000_000_000;

    fn toolcrib(upstreams: Vec<Value>, names: &[String]) -> ToolcribStatus {
        let configuration = vec!["/home/u/toolcrib.toml".into(), "/work/toolcrib.toml".into()];
        let upstreams = upstreams.into_iter().map(ServerReport::of).collect();
        let door = "http://127.0.0.1:3000/mcp".into();
        let jobs = JobCounts { queued: 1, running: 2, waiting: 0 };
        let (status, version) = ("degraded".into(), "0.1.0".into());
        let problem = Some("the disk is full".into());
        let health = Some(Health { status, problem, version, uptime_s: 7_300, tools: 30, jobs });
        ToolcribStatus::of(Toolcrib { pid: 7, door, configuration, upstreams, health }, names)
    }

    fn reports() -> Vec<Value> {
        let fetched_at_ms = NOW_MS - 300_000;
        vec![
            json!({ "name": "fs", "state": { "status": "connected" }, "transport": "stdio", "tools": 14, "prompts": 0,
                "resources": 2, "held_back": 1, "stale": false, "fetched_at_ms": fetched_at_ms, "last_error": "it\nended" }),
            json!({ "name": "git", "state": { "status": "failed", "error": "the program `git-mcp` was not found" },
                "transport": "stdio", "tools": 3, "prompts": 0, "resources": 0, "stale": true,
                "fetched_at_ms": fetched_at_ms, "last_error": "the program `git-mcp` was not found" }),
            json!({ "name": "linear", "state": { "status": "needs_auth" }, "transport": "http", "tools": 0,
                "prompts": 0, "resources": 0, "held_back": 0, "stale": false, "fetched_at_ms": null, "last_error": null }),
            // Of another version.
            json!({ "name": "odd", "state": { "status": "sleeping" }, "mood": "fine" }),
            json!({ "name": "old", "workspace": "docs", "state": { "status": "disabled" }, "transport": "http", "tools": 0 }),
            json!({ "name": "db", "state": { "status": "connected" }, "transport": "stdio", "tools": 1, "prompts": 0,
                "resources": 0, "stale": false, "fetched_at_ms": fetched_at_ms, "last_error": null,
                "sandbox": { "profile": "confined", "refused": [
                    { "what": "connect db:5432", "why": "no rule allows it", "times": 2, "allow": "toolcrib mcp set db x" },
                    { "what": "connect a:1", "why": "no rule allows it", "times": 1, "allow": null },
                ] } }),
        ]
    }

    #[test]
    fn a_table_says_what_to_do() {
        expect![[r#"
            process 7, http://127.0.0.1:3000/mcp, /home/u/toolcrib.toml, /work/toolcrib.toml
            NAME        TRANSPORT  STATUS      SANDBOX   TOOLS  PROMPTS  RESOURCES  HELD BACK  AGE               LAST ERROR
            fs          stdio      connected   -         14     0        2          1          5 min old         it ended
            git         stdio      failed      -         3      0        0          -          5 min old, stale  the program `git-mcp` was not found; `toolcrib mcp test git` says more
            linear      http       needs auth  -         0      0        0          0          -                 run `toolcrib mcp auth linear`
            odd                    sleeping    -         -      -        -          -          -
            old (docs)  http       disabled    -         0      -        -          -          -
            db          stdio      connected   confined  1      0        0          -          5 min old         blocked: connect db:5432 (no rule allows it); allow it with `toolcrib mcp set db x`, and 1 more
            degraded, version 0.1.0, up 7300 s, 30 tools, jobs: 1 queued, 2 running, 0 waiting
            the disk is full"#]]
        .assert_eq(&to_text(&toolcrib(reports(), &[]), true, NOW_MS).to_string());
        let nobody = to_text(&toolcrib(reports(), &["nobody".into()]), false, NOW_MS).to_string();
        assert!(
            nobody.starts_with(NO_SERVERS) && nobody.ends_with("2 running, 0 waiting\nthe disk is full"),
            "{nobody}"
        );
    }

    #[test]
    fn programs_read_the_seeds_form() {
        let toolcrib = json!(toolcrib(reports(), &["linear".into(), "git".into()]));
        let servers = &toolcrib["servers"];
        assert_eq!(servers[0]["status"], "failed");
        assert_eq!(servers[0]["error"], "the program `git-mcp` was not found");
        assert_eq!(servers[0]["state"], Value::Null);
        assert_eq!(servers[1], {
            let mut linear = reports()[2].clone();
            linear.as_object_mut().expect("an object").remove("state");
            linear["status"] = "needs_auth".into();
            linear
        });
        assert_eq!(toolcrib["pid"], 7);
    }

    #[test]
    fn somebody_must_do_something_about_some_states() {
        for (status, expected) in [
            ("connected", true),
            ("connecting", true),
            ("stopped", true),
            ("disabled", true),
            ("failed", false),
            ("needs_auth", false),
            ("needs_client_registration", false),
        ] {
            let one = toolcrib(vec![json!({ "name": "x", "state": { "status": status } })], &[]);
            assert_eq!(are_good(&one), expected, "{status}");
        }
    }
}

//! How the servers of one Toolcrib are doing, for people and for programs.

use admin::servers::NO_SERVERS;
use daemon::control::Running;
use serde_json::{Value, json};
use terminal::print;
use terminal::times::now_ms;

use crate::commands::mcp::reported::ReportedServer;

const HEAD: [&str; 9] =
    ["NAME", "TRANSPORT", "STATUS", "TOOLS", "PROMPTS", "RESOURCES", "HELD BACK", "AGE", "LAST ERROR"];

/// One Toolcrib and its servers.
pub(super) struct Section {
    /// Nothing for this process, which is gone in a moment.
    process: Option<Running>,
    servers: Vec<ReportedServer>,
}

impl Section {
    /// The servers of these names, or all if there is none, of a running process.
    pub(super) fn of(running: &Running, names: &[String]) -> Section {
        let servers = running.upstreams.iter().map(ReportedServer::of);
        let servers = servers.filter(|server| is_wanted(server.name(), names)).collect();
        Section { process: Some(running.clone()), servers }
    }

    /// What is remembered of servers where nobody runs.
    pub(super) fn alone(reports: &[Value]) -> Section {
        Section { process: None, servers: reports.iter().map(ReportedServer::of).collect() }
    }

    /// True if it has a server of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.servers.iter().any(|server| server.name() == name)
    }

    /// The servers that are not as they were `before`, new ones and those that are gone among them.
    pub(super) fn changes(&self, before: &Section) -> impl Iterator<Item = ReportedServer> {
        let find = |all: &Section, label: &str| all.servers.iter().position(|server| server.label() == label);
        let is_new = |server: &&ReportedServer| {
            find(before, &server.label()).is_none_or(|at| before.servers[at].is_other(server))
        };
        let gone = before.servers.iter().filter(|server| find(self, &server.label()).is_none());
        let gone = gone.map(|server| {
            let mut gone = json!({ "name": server.name(), "state": { "status": "removed" } });
            if let Some(workspace) = server.report.get("workspace") {
                gone["workspace"] = workspace.clone();
            }
            gone
        });
        let changed = self.servers.iter().filter(is_new).map(|server| server.report.clone());
        changed.chain(gone).map(|report| ReportedServer::of(&report)).collect::<Vec<_>>().into_iter()
    }

    /// True if no server needs somebody to do something.
    pub(super) fn is_good(&self) -> bool {
        self.servers.iter().all(ReportedServer::is_good)
    }

    /// Everything as an object.
    pub(super) fn to_json(&self) -> Value {
        let servers: Vec<Value> = self.servers.iter().map(ReportedServer::to_json).collect();
        let process = self.process.as_ref();
        json!({
            "pid": process.map(|process| process.pid),
            "door": process.map(|process| &process.door),
            "configuration": process.map(|process| &process.configuration),
            "servers": servers,
        })
    }

    /// A table, below a line that says whose it is if that is wanted.
    pub(super) fn to_text(&self, titled: bool) -> String {
        let title = self.process.as_ref().filter(|_| titled).map(title).unwrap_or_default();
        if self.servers.is_empty() {
            return format!("{title}{NO_SERVERS}");
        }
        let rows = self.servers.iter().map(|server| server.row(now_ms()));
        format!("{title}{}", print::Table::titled(HEAD, rows))
    }
}

fn title(process: &Running) -> String {
    let Running { pid, door, configuration, .. } = process;
    let files =
        if configuration.is_empty() { "no configuration".to_owned() } else { configuration.join(", ") };
    format!("process {pid}, {door}, {files}\n")
}

/// True if somebody asked for a server of this name: whoever names none wants all.
pub(super) fn is_wanted(name: &str, names: &[String]) -> bool {
    names.is_empty() || names.iter().any(|wanted| wanted == name)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn running(upstreams: Vec<Value>) -> Running {
        let configuration = vec!["/home/u/toolcrib.toml".into(), "/work/toolcrib.toml".into()];
        Running { pid: 7, door: "http://127.0.0.1:3000/mcp".into(), configuration, upstreams }
    }

    fn reports() -> Vec<Value> {
        let fetched_at_ms = now_ms() - 300_000;
        vec![
            json!({ "name": "fs", "state": { "status": "connected" }, "transport": "stdio", "tools": 14, "prompts": 0,
                "resources": 2, "held_back": 1, "stale": false, "fetched_at_ms": fetched_at_ms, "last_error": "it\nended" }),
            json!({ "name": "git", "state": { "status": "failed", "error": "the program `git-mcp` was not found" },
                "transport": "stdio", "tools": 3, "prompts": 0, "resources": 0, "stale": true,
                "fetched_at_ms": fetched_at_ms, "last_error": "the program `git-mcp` was not found" }),
            json!({ "name": "linear", "state": { "status": "needs_auth" }, "transport": "http", "tools": 0,
                "prompts": 0, "resources": 0, "stale": false, "fetched_at_ms": null, "last_error": null }),
            // Of another version.
            json!({ "name": "odd", "state": { "status": "sleeping" }, "mood": "fine" }),
            json!({ "name": "old", "workspace": "docs", "state": { "status": "disabled" }, "transport": "http", "tools": 0 }),
        ]
    }

    #[test]
    fn a_table_says_what_to_do() {
        let running = running(reports());
        expect![[r#"
            process 7, http://127.0.0.1:3000/mcp, /home/u/toolcrib.toml, /work/toolcrib.toml
            NAME        TRANSPORT  STATUS      TOOLS  PROMPTS  RESOURCES  HELD BACK  AGE               LAST ERROR
            fs          stdio      connected   14     0        2          1          5 min old         it ended
            git         stdio      failed      3      0        0          -          5 min old, stale  the program `git-mcp` was not found; `toolcrib mcp test git` says more
            linear      http       needs auth  0      0        0          -          -                 run `toolcrib mcp auth linear`
            odd                    sleeping    -      -        -          -          -
            old (docs)  http       disabled    0      -        -          -          -"#]]
        .assert_eq(&Section::of(&running, &[]).to_text(true));
        assert_eq!(Section::of(&running, &["nobody".into()]).to_text(false), NO_SERVERS);
    }

    #[test]
    fn programs_read_the_seeds_form() {
        let section = Section::of(&running(reports()), &["linear".into(), "git".into()]);
        let servers = section.to_json()["servers"].clone();
        assert_eq!(servers[0]["status"], "failed");
        assert_eq!(servers[0]["error"], "the program `git-mcp` was not found");
        assert_eq!(servers[0]["state"], Value::Null);
        assert_eq!(servers[1], {
            let mut linear = reports()[2].clone();
            linear.as_object_mut().expect("an object").remove("state");
            linear["status"] = "needs_auth".into();
            linear
        });
        assert_eq!(section.to_json()["pid"], 7);
        assert_eq!(Section::alone(&reports()).to_json()["pid"], Value::Null);
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
            let section = Section::alone(&[json!({ "name": "x", "state": { "status": status } })]);
            assert_eq!(section.is_good(), expected, "{status}");
        }
    }
}

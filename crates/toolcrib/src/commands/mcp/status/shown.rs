//! How servers are doing, for people and for programs. What is shown was told by another process, perhaps of another
//! version: what is missing is left out.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::commands::mcp::list::age;
use crate::commands::mcp::servers::NO_SERVERS;
use crate::control::Running;
use crate::print;
use crate::times::now_ms;

/// One Toolcrib and its servers.
pub(super) struct Section {
    /// Nothing for this process, which is gone in a moment.
    process: Option<Process>,
    servers: Vec<Server>,
}

struct Process {
    pid: u32,
    door: String,
    configuration: Vec<String>,
}

/// One server: what it was told to be, and what of that is shown.
pub(super) struct Server {
    told: Value,
    told_as: Told,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Told {
    name: String,
    state: State,
    transport: String,
    tools: Option<u64>,
    prompts: Option<u64>,
    resources: Option<u64>,
    held_back: Option<u64>,
    stale: bool,
    fetched_at_ms: Option<i64>,
    circuit_open_ms: Option<u64>,
    last_error: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct State {
    status: String,
    error: Option<String>,
}

impl Section {
    /// The servers of these names, or all if there is none, of a running process.
    pub(super) fn of(running: &Running, names: &[String]) -> Section {
        let Running { pid, door, configuration, upstreams } = running;
        let process = Process { pid: *pid, door: door.clone(), configuration: configuration.clone() };
        let servers = upstreams.iter().map(Server::of);
        let servers = servers.filter(|server| is_wanted(&server.told_as.name, names)).collect();
        Section { process: Some(process), servers }
    }

    /// What is remembered of servers where nobody runs.
    pub(super) fn alone(reports: &[Value]) -> Section {
        Section { process: None, servers: reports.iter().map(Server::of).collect() }
    }

    /// True if it has a server of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.servers.iter().any(|server| server.told_as.name == name)
    }

    /// True if no server needs somebody to do something.
    pub(super) fn is_good(&self) -> bool {
        self.servers.iter().all(Server::is_good)
    }

    /// Everything as an object.
    pub(super) fn to_json(&self) -> Value {
        let servers: Vec<Value> = self.servers.iter().map(Server::to_json).collect();
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
        let title = self.process.as_ref().filter(|_| titled).map(|process| format!("{}\n", process.title()));
        let title = title.unwrap_or_default();
        if self.servers.is_empty() {
            return format!("{title}{NO_SERVERS}");
        }
        let head = [
            "NAME",
            "TRANSPORT",
            "STATUS",
            "TOOLS",
            "PROMPTS",
            "RESOURCES",
            "HELD BACK",
            "AGE",
            "LAST ERROR",
        ];
        let rows = [head.map(str::to_owned).to_vec()].into_iter();
        let rows: Vec<_> = rows.chain(self.servers.iter().map(|server| server.row(now_ms()))).collect();
        format!("{title}{}", print::table(&rows))
    }
}

impl Process {
    fn title(&self) -> String {
        let files = match self.configuration.as_slice() {
            [] => "no configuration".to_owned(),
            files => files.join(", "),
        };
        format!("process {}, {}, {files}", self.pid, self.door)
    }
}

/// True if somebody asked for a server of this name: whoever names none wants all.
pub(super) fn is_wanted(name: &str, names: &[String]) -> bool {
    names.is_empty() || names.iter().any(|wanted| wanted == name)
}

impl Server {
    /// What a report or a change says.
    pub(super) fn of(told: &Value) -> Server {
        // One that says something in another way than this version is shown as far as that goes.
        Server { told: told.clone(), told_as: serde_json::from_value(told.clone()).unwrap_or_default() }
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.told_as.name
    }

    fn is_good(&self) -> bool {
        !matches!(self.told_as.state.status.as_str(), "failed" | "needs_auth" | "needs_client_registration")
    }

    /// What was told, with `{"status":…,"error":…}` in place of the `state` around them.
    pub(super) fn to_json(&self) -> Value {
        let mut told = self.told.clone();
        let state = told.as_object_mut().and_then(|object| object.remove("state"));
        if let (Value::Object(object), Some(Value::Object(state))) = (&mut told, state) {
            object.extend(state);
        }
        told
    }

    /// How it is doing, in words.
    pub(super) fn status(&self) -> String {
        match self.told_as.state.status.as_str() {
            "" => "unknown".to_owned(),
            status => status.replace('_', " "),
        }
    }

    /// What went wrong, and what to do about it.
    pub(super) fn error(&self) -> String {
        let Told { name, state, circuit_open_ms, last_error, .. } = &self.told_as;
        let error = match (state.status.as_str(), &state.error) {
            (_, None) if circuit_open_ms.is_some() => {
                let wait_s = circuit_open_ms.unwrap_or_default().div_ceil(1000);
                format!("its calls get no answer; tried again in {wait_s} s")
            }
            ("needs_auth", _) => format!("run `toolcrib mcp auth {name}`"),
            ("failed", Some(error)) => format!("{error}; `toolcrib mcp test {name}` says more"),
            (_, Some(error)) => error.clone(),
            (_, None) => last_error.clone().unwrap_or_default(),
        };
        // One row is one line.
        error.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn row(&self, now_ms: i64) -> Vec<String> {
        let Told { name, transport, tools, prompts, resources, held_back, stale, fetched_at_ms, .. } =
            &self.told_as;
        let count = |count: &Option<u64>| count.map_or("-".to_owned(), |count| count.to_string());
        let age = match fetched_at_ms {
            None => "-".to_owned(),
            Some(fetched) if *stale => format!("{}, stale", age(now_ms.saturating_sub(*fetched))),
            Some(fetched) => age(now_ms.saturating_sub(*fetched)),
        };
        let (name, transport) = (name.clone(), transport.clone());
        let (tools, prompts, resources) = (count(tools), count(prompts), count(resources));
        vec![name, transport, self.status(), tools, prompts, resources, count(held_back), age, self.error()]
    }
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
            json!({ "name": "old", "state": { "status": "disabled" }, "transport": "http", "tools": 0 }),
        ]
    }

    #[test]
    fn a_table_says_what_to_do() {
        let running = running(reports());
        expect![[r#"
            process 7, http://127.0.0.1:3000/mcp, /home/u/toolcrib.toml, /work/toolcrib.toml
            NAME    TRANSPORT  STATUS      TOOLS  PROMPTS  RESOURCES  HELD BACK  AGE               LAST ERROR
            fs      stdio      connected   14     0        2          1          5 min old         it ended
            git     stdio      failed      3      0        0          -          5 min old, stale  the program `git-mcp` was not found; `toolcrib mcp test git` says more
            linear  http       needs auth  0      0        0          -          -                 run `toolcrib mcp auth linear`
            odd                sleeping    -      -        -          -          -
            old     http       disabled    0      -        -          -          -"#]]
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

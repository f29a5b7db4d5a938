//! Resident memory at rest, and with a thousand HTTP sessions that do nothing.

use super::tables::failed_row;
use crate::bench::Bench;
use crate::client::list_tools;
use crate::http_client::HttpClient;
use crate::proc_figures::{Memory, memory, resident_of_tree};
use crate::process::Launch;
use crate::programs::Upstream;
use crate::report::{Goal, Limit, Report, Section, Unit};
use crate::round::Servers;
use crate::stdio_client::StdioClient;

/// Sessions, each on a connection kept open.
const SESSIONS: usize = 1_000;
const IDLE_BYTES_MAX: f64 = 8.0 * 1024.0 * 1024.0;
const CROWDED_BYTES_MAX: f64 = 24.0 * 1024.0 * 1024.0;

struct Figures {
    process: Memory,
    tree_bytes: u64,
}

type Rows = Vec<(String, anyhow::Result<Figures>)>;

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let programs = &bench.programs;
    let mut rows = Rows::new();
    for (name, launch) in [
        ("mcp-echo-floor", Ok(programs.mcp_floor(0))),
        ("toolcrib", programs.toolcrib_default()),
        ("Rust SDK", Ok(programs.rmcp())),
        ("TypeScript SDK", Ok(programs.ts())),
    ] {
        rows.push((format!("{name}, stdio"), over_stdio(launch)));
    }
    for (name, servers) in [
        ("mcp-echo-floor", Servers::one(|port| Ok(programs.mcp_floor_http(port, 0)))),
        ("toolcrib", Servers::one(|port| programs.toolcrib_http(port, Upstream::None))),
        ("Rust SDK", Servers::one(|port| Ok(programs.rmcp_http(port)))),
    ] {
        over_http(name, servers, &mut rows);
    }
    for (name, limit) in [
        ("toolcrib, stdio", IDLE_BYTES_MAX),
        ("toolcrib, HTTP, 1 session", IDLE_BYTES_MAX),
        ("toolcrib, HTTP, 1000 sessions", CROWDED_BYTES_MAX),
    ] {
        report.goal(goal(&rows, name, limit));
    }
    report.section(Section {
        title: "Resident memory".into(),
        about: "After the handshake and one `tools/list`; over HTTP each session has a connection kept open. \"Private\" is heap \
                and stacks. The tree counts pages shared by its processes once for each."
            .into(),
        columns: ["program", "resident", "private", "peak", "tree"].map(str::to_owned).to_vec(),
        rows: rows.iter().map(row).collect(),
    });
    Ok(())
}

fn over_stdio(launch: anyhow::Result<Launch>) -> anyhow::Result<Figures> {
    let mut client = StdioClient::open(&launch?)?;
    list_tools(&mut client)?;
    Ok(figures(client.running.pid()))
}

fn over_http(name: &str, servers: anyhow::Result<Servers>, rows: &mut Rows) {
    let servers = match servers {
        Ok(servers) => servers,
        Err(error) => return rows.push((format!("{name}, HTTP"), Err(error))),
    };
    let mut clients: Vec<HttpClient> = Vec::with_capacity(SESSIONS);
    for (sessions, noun) in [(1, "session"), (SESSIONS, "sessions")] {
        let filled = fill(&mut clients, sessions, &servers);
        rows.push((format!("{name}, HTTP, {sessions} {noun}"), filled.map(|()| figures(servers.pid()))));
    }
}

fn fill(clients: &mut Vec<HttpClient>, sessions: usize, servers: &Servers) -> anyhow::Result<()> {
    while clients.len() < sessions {
        let mut client = servers.client()?;
        list_tools(&mut client)?;
        clients.push(client);
    }
    Ok(())
}

fn figures(pid: u32) -> Figures {
    Figures { process: memory(pid), tree_bytes: resident_of_tree(pid) }
}

fn goal(rows: &Rows, name: &str, limit: f64) -> Goal {
    let found = rows.iter().find(|(row, _)| row == name).and_then(|(_, figures)| figures.as_ref().ok());
    Goal {
        what: format!("resident memory at rest: {name}"),
        ours: found.map_or(f64::NAN, |figures| figures.process.resident as f64),
        yardstick: (String::new(), f64::NAN),
        ratio: f64::NAN,
        unit: Unit::Bytes,
        limit: Limit::AtMost(limit),
    }
}

fn row((name, figures): &(String, anyhow::Result<Figures>)) -> Vec<String> {
    match figures {
        Ok(Figures { process, tree_bytes }) => {
            let bytes = [process.resident, process.private, process.peak, *tree_bytes];
            let shown = bytes.map(|bytes| Unit::Bytes.show(bytes as f64));
            [name.clone()].into_iter().chain(shown).collect()
        }
        Err(error) => failed_row(format!("{name}: {error:#}"), 5),
    }
}

//! Memory at rest, with a thousand HTTP sessions that do nothing, and after many calls.
//!
//! At rest private memory is what counts: heap and stacks. Pages of the program's file that happen to lie in the
//! kernel's cache are nobody's.

use super::echo;
use super::tables::failed_row;
use crate::bench::Bench;
use crate::client::{await_answer, list_tools};
use crate::http_client::HttpClient;
use crate::http_crowd::Crowd;
use crate::proc_figures::{Memory, memory, resident_of_tree};
use crate::process::Launch;
use crate::programs::Upstream;
use crate::report::{Goal, Limit, Report, Section, Unit};
use crate::round::{READY_TIME_MAX, Servers};
use crate::stdio_client::StdioClient;

/// Sessions, each on a connection kept open.
const SESSIONS: usize = 1_000;
const IDLE_PRIVATE_BYTES_MAX: f64 = 3.0 * 1024.0 * 1024.0;
const LOADED_BYTES_MAX: f64 = 14.0 * 1024.0 * 1024.0;
/// Clients with one call open each, for as long as one slice.
const CALLERS: usize = 64;
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
    let loaded = format!("toolcrib, HTTP to stdio, after {CALLERS} clients' calls");
    rows.push((loaded.clone(), after_load(bench)));
    let private = |figures: &Figures| figures.process.private;
    let resident = |figures: &Figures| figures.process.resident;
    for name in ["toolcrib, stdio", "toolcrib, HTTP, 1 session"] {
        report.goal(goal(&rows, name, "private memory at rest", private, IDLE_PRIVATE_BYTES_MAX));
    }
    report.goal(goal(
        &rows,
        "toolcrib, HTTP, 1000 sessions",
        "resident memory at rest",
        resident,
        CROWDED_BYTES_MAX,
    ));
    report.goal(goal(&rows, &loaded, "resident memory", resident, LOADED_BYTES_MAX));
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

/// A gateway that has answered as many calls as it could for one slice.
fn after_load(bench: &Bench) -> anyhow::Result<Figures> {
    let stdio = Upstream::Stdio { tools: 0 };
    let servers = Servers::one(|port| bench.programs.toolcrib_http(port, stdio))?;
    let request = echo("floor_echo");
    await_answer(&mut servers.client()?, &request, READY_TIME_MAX)?;
    let mut crowd = Crowd::gather(CALLERS, || servers.client())?;
    crowd.slice(&request, bench.budget.slice_time, servers.pid())?;
    Ok(figures(servers.pid()))
}

fn figures(pid: u32) -> Figures {
    Figures { process: memory(pid), tree_bytes: resident_of_tree(pid) }
}

fn goal(rows: &Rows, name: &str, what: &str, of: impl Fn(&Figures) -> u64, limit: f64) -> Goal {
    let found = rows.iter().find(|(row, _)| row == name).and_then(|(_, figures)| figures.as_ref().ok());
    Goal {
        what: format!("{what}: {name}"),
        ours: found.map_or(f64::NAN, |figures| of(figures) as f64),
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

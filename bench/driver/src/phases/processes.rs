//! How many processes serve a hundred clients of one stdio upstream.

use super::echo;
use super::tables::failed_row;
use crate::bench::Bench;
use crate::client::await_answer;
use crate::http_crowd::Crowd;
use crate::proc_figures::{named, resident_of_tree, tree};
use crate::programs::Upstream;
use crate::report::{Goal, Limit, Report, Section, Unit};
use crate::round::{READY_TIME_MAX, Servers};

const CLIENTS: usize = 100;

struct Figures {
    upstreams: usize,
    processes: usize,
    tree_bytes: u64,
}

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let programs = &bench.programs;
    let upstream = Upstream::Stdio { tools: 0 };
    let toolcrib = Servers::one(|port| programs.toolcrib_http(port, upstream));
    let toolcrib = measure(bench, toolcrib, "floor_echo");
    let fastmcp = measure(bench, Servers::one(|port| Ok(programs.fastmcp(port, upstream))), "echo");
    report.goal(Goal {
        what: format!("upstream processes for {CLIENTS} clients"),
        ours: toolcrib.as_ref().map_or(f64::NAN, |figures| figures.upstreams as f64),
        yardstick: (String::new(), f64::NAN),
        ratio: f64::NAN,
        unit: Unit::Count,
        limit: Limit::AtMost(1.0),
    });
    report.section(Section {
        title: format!("{CLIENTS} clients, one stdio upstream"),
        about: "Each client has a session of its own and has called the upstream. toolcrib runs an upstream under a small guard \
                process, which counts among the processes, not among the upstreams."
            .into(),
        columns: ["gateway", "upstreams", "processes", "resident, whole tree"].map(str::to_owned).to_vec(),
        rows: vec![row("toolcrib", &toolcrib), row("FastMCP proxy", &fastmcp)],
    });
    Ok(())
}

/// Every client calls once; then, with all of them still connected, the processes are counted.
fn measure(bench: &Bench, servers: anyhow::Result<Servers>, tool: &str) -> anyhow::Result<Figures> {
    let servers = servers?;
    let request = echo(tool);
    await_answer(&mut servers.client()?, &request, READY_TIME_MAX)?;
    let mut crowd = Crowd::gather(CLIENTS, || servers.client())?;
    crowd.slice(&request, bench.budget.slice_time, servers.pid())?;
    let mark = bench.programs.mark().to_string_lossy();
    Ok(Figures {
        upstreams: named("mcp-echo-floor", &mark).len(),
        processes: tree(servers.pid()).len(),
        tree_bytes: resident_of_tree(servers.pid()),
    })
}

fn row(name: &str, figures: &anyhow::Result<Figures>) -> Vec<String> {
    match figures {
        Ok(figures) => vec![
            name.into(),
            Unit::Count.show(figures.upstreams as f64),
            Unit::Count.show(figures.processes as f64),
            Unit::Bytes.show(figures.tree_bytes as f64),
        ],
        Err(error) => failed_row(format!("{name}: {error:#}"), 4),
    }
}

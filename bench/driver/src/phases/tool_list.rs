//! `tools/list` with a thousand tools of an upstream, beside the upstream's own list.

use std::time::{Duration, Instant};

use super::tables::{latencies, latency_goal};
use crate::bench::Bench;
use crate::client::{Client, await_tools, list_tools};
use crate::placement::Placement;
use crate::proc_figures::cpu_ns_of_tree;
use crate::programs::Upstream;
use crate::report::{Limit, Report};
use crate::round::{Round, Servers};
use crate::slices::{Slice, from_times, nanoseconds};
use crate::stdio_client::{SILENCE_MAX, StdioClient};

const TOOLS: u16 = 1_000;
/// Microseconds.
const GOAL_US: f64 = 200.0;
/// An upstream may start only when it is first needed.
const READY_TIME_MAX: Duration = Duration::from_secs(10);
const STDIO: &str = "toolcrib, stdio";
const HTTP: &str = "toolcrib, HTTP";
const FLOOR_STDIO: &str = "the upstream itself, stdio";
const FLOOR_HTTP: &str = "the upstream itself, HTTP";

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let _placed = Placement::OneCore.enter()?;
    let programs = &bench.programs;
    let upstream = Upstream::Stdio { tools: TOOLS };
    let mut round = Round::new(bench);
    for (name, launch) in
        [(FLOOR_STDIO, Ok(programs.mcp_floor(TOOLS))), (STDIO, programs.toolcrib_stdio(upstream))]
    {
        round.add(name, || {
            let mut client = StdioClient::open(&launch?)?;
            await_tools(&mut client, TOOLS.into(), READY_TIME_MAX)?;
            Ok(Box::new(move |time| {
                let _watch = client.running.within(SILENCE_MAX + time);
                let pid = client.running.pid();
                lists(&mut client, time, pid)
            }))
        });
    }
    for (name, servers) in [
        (FLOOR_HTTP, Servers::one(|port| Ok(programs.mcp_floor_http(port, TOOLS)))),
        (HTTP, Servers::one(|port| programs.toolcrib_http(port, upstream))),
        ("FastMCP proxy, HTTP", Servers::one(|port| Ok(programs.fastmcp(port, upstream)))),
    ] {
        round.add(name, || {
            let servers = servers?;
            let mut client = servers.client()?;
            await_tools(&mut client, TOOLS.into(), READY_TIME_MAX)?;
            Ok(Box::new(move |time| lists(&mut client, time, servers.pid())))
        });
    }
    let results = round.run();
    for (ours, floor) in [(STDIO, FLOOR_STDIO), (HTTP, FLOOR_HTTP)] {
        let what = format!("`tools/list`, {TOOLS} upstream tools: {ours}");
        report.goal(latency_goal(&what, &results, ours, floor, Limit::AtMost(GOAL_US)));
    }
    let title = format!("`tools/list` with {TOOLS} upstream tools");
    let about = "The whole list, all its pages added up; client and server on one core.";
    report.section(latencies(&title, about, &results, FLOOR_STDIO));
    Ok(())
}

/// One slice of whole lists. A slow gateway still gets one.
fn lists(client: &mut dyn Client, time: Duration, pid: u32) -> anyhow::Result<Slice> {
    let cpu_before = cpu_ns_of_tree(pid);
    let start = Instant::now();
    let mut times_ns = Vec::new();
    while times_ns.is_empty() || start.elapsed() < time {
        times_ns.push(nanoseconds(list_tools(client)?.1));
    }
    let elapsed = start.elapsed();
    Ok(from_times(times_ns, elapsed, Some(cpu_ns_of_tree(pid).saturating_sub(cpu_before))))
}

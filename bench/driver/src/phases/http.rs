//! `tools/call` over HTTP: one connection, then 64, each with a session of its own.

use super::tables::{latencies, latency_goal, throughputs};
use super::{echo, read_file};
use crate::bench::Bench;
use crate::message::Request;
use crate::placement::Placement;
use crate::programs::Upstream;
use crate::report::{Limit, Report};
use crate::round::{Round, Servers};

/// Clients with one call open each.
const CONNECTIONS: usize = 64;
const YARDSTICK: &str = "http-echo";

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    for placement in [Placement::OneCore, Placement::Free] {
        let _placed = placement.enter()?;
        let mut round = Round::new(bench);
        for (name, servers, request) in lanes(bench) {
            round.http(name, servers, &request);
        }
        let results = round.run();
        let title = format!("HTTP `tools/call`, one connection, {}", placement.name());
        if placement == Placement::OneCore {
            report.goal(latency_goal(&title, &results, "toolcrib", YARDSTICK, Limit::TimesAtMost(1.5)));
        }
        let about =
            "One call at a time over a connection kept alive. toolcrib reads a small file, the others echo.";
        report.section(latencies(&title, about, &results, YARDSTICK));
    }
    let mut round = Round::new(bench);
    for (name, servers, request) in lanes(bench) {
        round.crowd(name, servers, CONNECTIONS, &request);
    }
    let title = format!("HTTP `tools/call`, {CONNECTIONS} connections");
    let about = "Each client has a session of its own and one call open; the driver takes one core, the server what is left.";
    report.section(throughputs(&title, about, &round.run(), YARDSTICK));
    Ok(())
}

fn lanes(bench: &Bench) -> [(&'static str, anyhow::Result<Servers>, Request); 5] {
    let programs = &bench.programs;
    [
        (YARDSTICK, Servers::echo(programs), read_file().echoed()),
        ("mcp-echo-floor", Servers::one(|port| Ok(programs.mcp_floor_http(port, 0))), echo("echo")),
        ("toolcrib", Servers::one(|port| programs.toolcrib_http(port, Upstream::None)), read_file()),
        ("Rust SDK, sessions and SSE", Servers::one(|port| Ok(programs.rmcp_http(port))), echo("echo")),
        ("Rust SDK, JSON, no sessions", Servers::one(|port| Ok(programs.rmcp_json(port))), echo("echo")),
    ]
}

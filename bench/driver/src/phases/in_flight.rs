//! Many calls in flight over stdio: how much work one `read` and one `write` carry.

use super::tables::{rate_goal, throughputs};
use super::{echo, read_file};
use crate::bench::Bench;
use crate::message::Request;
use crate::placement::Placement;
use crate::programs::Upstream;
use crate::report::{Limit, Report};
use crate::round::Round;
use crate::stdio_client::StdioClient;

/// Calls open at any time.
const WINDOW: usize = 64;
/// Calls a second.
const GOAL: f64 = 300_000.0;
const YARDSTICK: &str = "pipe-echo, same bytes";

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    for placement in [Placement::Free, Placement::OneCore] {
        let _placed = placement.enter()?;
        measure(bench, report, placement, "ping", &Request::ping(), &Request::ping());
        measure(bench, report, placement, "tools/call", &read_file(), &echo("echo"));
    }
    Ok(())
}

fn measure(
    bench: &Bench,
    report: &mut Report,
    placement: Placement,
    method: &str,
    ours: &Request,
    theirs: &Request,
) {
    let programs = &bench.programs;
    let mut round = Round::new(bench);
    round.in_flight(YARDSTICK, StdioClient::bare(&programs.pipe_echo()), WINDOW, &ours.echoed());
    round.in_flight("mcp-echo-floor", StdioClient::open(&programs.mcp_floor(0)), WINDOW, theirs);
    let toolcrib = programs.toolcrib_stdio(Upstream::None).and_then(|launch| StdioClient::open(&launch));
    round.in_flight("toolcrib", toolcrib, WINDOW, ours);
    round.in_flight("Rust SDK", StdioClient::open(&programs.rmcp()), WINDOW, theirs);
    let pipes = StdioClient::open(&programs.rmcp_pipes());
    round.in_flight("Rust SDK, non-blocking pipes", pipes, WINDOW, theirs);
    round.in_flight("TypeScript SDK", StdioClient::open(&programs.ts()), WINDOW, theirs);
    let results = round.run();
    let title = format!("stdio, {WINDOW} `{method}` in flight, {}", placement.name());
    if placement == Placement::Free {
        report.goal(rate_goal(&title, &results, "toolcrib", YARDSTICK, Limit::AtLeast(GOAL)));
    }
    let about = "A new call for every answer; single times are not taken. Free: the kernel places client and server as in \
                 real life. One core: the client's own work counts, too.";
    report.section(throughputs(&title, about, &results, YARDSTICK));
}

//! From spawn to the answer to `initialize`.

use std::time::{Duration, Instant};

use super::tables::{latencies, latency_goal};
use crate::bench::Bench;
use crate::process::Launch;
use crate::report::{Limit, Report};
use crate::round::Round;
use crate::slices::{from_times, nanoseconds};
use crate::stdio_client::StdioClient;

/// Starts in one slice.
const STARTS: usize = 4;
/// Microseconds.
const GOAL_US: f64 = 3_000.0;

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let programs = &bench.programs;
    let mut round = Round::new(bench);
    let mut lane = |name: &str, launch: anyhow::Result<Launch>| {
        round.add(name, || {
            let launch = launch?;
            // The first start makes state and fills the page cache; it is not what is measured.
            start(&launch)?;
            Ok(Box::new(move |_| {
                let times =
                    (0..STARTS).map(|_| start(&launch).map(nanoseconds)).collect::<anyhow::Result<_>>()?;
                Ok(from_times(times, Duration::ZERO, None))
            }))
        });
    };
    lane("mcp-echo-floor", Ok(programs.mcp_floor(0)));
    lane("toolcrib", programs.toolcrib_default());
    lane("Rust SDK", Ok(programs.rmcp()));
    lane("TypeScript SDK", Ok(programs.ts()));
    let results = round.run();
    let what = "spawn to `initialize`, default configuration";
    report.goal(latency_goal(what, &results, "toolcrib", "mcp-echo-floor", Limit::AtMost(GOAL_US)));
    let about = "From spawn to the whole answer to `initialize` over stdio; files in the page cache, toolcrib's state folder made \
                 by an earlier start.";
    report.section(latencies("Start", about, &results, "mcp-echo-floor"));
    Ok(())
}

/// Starts it, and has it answer `initialize`.
pub(super) fn start(launch: &Launch) -> anyhow::Result<Duration> {
    let start = Instant::now();
    let mut client = StdioClient::bare(launch)?;
    client.handshake()?;
    Ok(start.elapsed())
}

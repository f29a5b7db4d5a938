//! One call at a time over stdio, client and server on one core.

use super::tables::{latencies, latency_goal};
use super::{echo, read_file};
use crate::bench::Bench;
use crate::message::Request;
use crate::placement::Placement;
use crate::programs::{Rules, Upstream};
use crate::report::{Limit, Report};
use crate::round::Round;

const YARDSTICK: &str = "pipe-echo, same bytes";

/// The row with rules of every kind.
const RULED: &str = "toolcrib, rules of every kind";

/// The row of the revision without a handshake, whose requests are some 200 bytes longer.
const MODERN: &str = "toolcrib, revision 2026-07-28";

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let _placed = Placement::OneCore.enter()?;
    let programs = &bench.programs;
    for (title, goal, ours, theirs, modern) in [
        ("stdio `ping`", 1.2, Request::ping(), Request::ping(), None),
        ("stdio `tools/call`", 2.5, read_file(), echo("echo"), Some(read_file().modern())),
    ] {
        let mut round = Round::new(bench);
        round.pipe_echo(YARDSTICK, &ours);
        round.stdio("mcp-echo-floor", Ok(programs.mcp_floor(0)), &theirs);
        round.stdio("toolcrib", programs.toolcrib_stdio(Upstream::None), &ours);
        if let Some(modern) = &modern {
            round.stdio(RULED, programs.toolcrib_ruled(Rules::All), &ours);
            round.stdio(MODERN, programs.toolcrib_stdio(Upstream::None), modern);
        }
        round.stdio("Rust SDK", Ok(programs.rmcp()), &theirs);
        round.stdio("Rust SDK, non-blocking pipes", Ok(programs.rmcp_pipes()), &theirs);
        round.stdio("TypeScript SDK", Ok(programs.ts()), &theirs);
        let results = round.run();
        report.goal(latency_goal(title, &results, "toolcrib", YARDSTICK, Limit::TimesAtMost(goal)));
        if modern.is_some() {
            let title = "stdio `tools/call`, revision 2026-07-28 beside 2025-06-18";
            report.goal(latency_goal(title, &results, MODERN, "toolcrib", Limit::TimesAtMost(1.1)));
            let title = "stdio `tools/call`, the whole pipeline with rules of every kind";
            report.goal(latency_goal(title, &results, RULED, YARDSTICK, Limit::AtMost(12.0)));
        }
        let about = "One call at a time; client and server on one core. In `tools/call` toolcrib reads a small file through \
                     the whole gate (`workspace_read`), the others echo a text of the same length.";
        report.section(latencies(title, about, &results, YARDSTICK));
    }
    Ok(())
}

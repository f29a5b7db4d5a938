//! What the process that all clients share costs beside one for each client: calls through a front, and starts.

use std::time::Duration;

use anyhow::ensure;

use super::read_file;
use super::start::start;
use super::tables::{latencies, latency_goal};
use crate::bench::Bench;
use crate::message::Request;
use crate::placement::Placement;
use crate::process::Launch;
use crate::programs::Upstream;
use crate::report::{Limit, Report};
use crate::round::Round;
use crate::slices::{from_times, nanoseconds};

const ALONE: &str = "toolcrib, standalone";
const FRONT: &str = "toolcrib, through a front";
const RUNNING: &str = "toolcrib, its process running";
const STARTED: &str = "toolcrib, its process started";

/// Starts in one slice.
const STARTS: usize = 4;

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let stop = bench.programs.toolcrib_stop()?;
    let measured = calls(bench, report).and_then(|()| starts(bench, report, &stop));
    end(&stop)?;
    measured
}

fn calls(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let _placed = Placement::OneCore.enter()?;
    for (title, request) in
        [("`ping` through a front", Request::ping()), ("`tools/call` through a front", read_file())]
    {
        let mut round = Round::new(bench);
        round.stdio(ALONE, bench.programs.toolcrib_stdio(Upstream::None), &request);
        round.stdio(FRONT, bench.programs.toolcrib_front(), &request);
        let results = round.run();
        report.goal(latency_goal(title, &results, FRONT, ALONE, Limit::TimesAtMost(1.03)));
        let about = "One call at a time; client and server on one core. The front has handed its pipes over.";
        report.section(latencies(title, about, &results, ALONE));
    }
    Ok(())
}

fn starts(bench: &Bench, report: &mut Report, stop: &Launch) -> anyhow::Result<()> {
    let mut round = Round::new(bench);
    let mut lane = |name: &str, launch: anyhow::Result<Launch>, stopped_before: Option<&Launch>| {
        let stop = stopped_before.cloned();
        round.add(name, || {
            let launch = launch?;
            start(&launch)?;
            Ok(Box::new(move |_| {
                let once = |_| {
                    stop.iter().try_for_each(end)?;
                    start(&launch).map(nanoseconds)
                };
                let times = (0..STARTS).map(once).collect::<anyhow::Result<_>>()?;
                Ok(from_times(times, Duration::ZERO, None))
            }))
        });
    };
    lane(ALONE, bench.programs.toolcrib_stdio(Upstream::None), None);
    lane(STARTED, bench.programs.toolcrib_front(), Some(stop));
    lane(RUNNING, bench.programs.toolcrib_front(), None);
    let results = round.run();
    let what = "spawn to `initialize`, the process running";
    report.goal(latency_goal(what, &results, RUNNING, ALONE, Limit::AtMost(5_000.0)));
    let what = "spawn to `initialize`, the process started";
    report.goal(latency_goal(what, &results, STARTED, ALONE, Limit::AtMost(30_000.0)));
    let about = "From spawn to the whole answer to `initialize` over stdio; files in the page cache.";
    report.section(latencies("Start through a front", about, &results, ALONE));
    Ok(())
}

/// Ends the process that all clients share, if it runs.
fn end(stop: &Launch) -> anyhow::Result<()> {
    let status = stop.run()?;
    ensure!(status.success(), "the shared process could not be stopped: {status}");
    Ok(())
}

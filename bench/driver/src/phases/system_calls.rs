//! System calls of one sequential call over stdio, counted by `strace`.

use std::collections::BTreeMap;

use super::tables::failed_row;
use super::{echo, read_file};
use crate::bench::Bench;
use crate::counts::system_calls;
use crate::message::Request;
use crate::process::Launch;
use crate::programs::Upstream;
use crate::report::{Goal, Limit, Report, Section, Unit};

/// Rarer ones are timers and the like, not part of a call.
const SHARE_MIN: f64 = 0.02;

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let programs = &bench.programs;
    let toolcrib = || programs.toolcrib_stdio(Upstream::None);
    let runs: [(&str, anyhow::Result<Launch>, Request); 8] = [
        ("mcp-echo-floor: echo", Ok(programs.mcp_floor(0)), echo("echo")),
        ("toolcrib: ping", toolcrib(), Request::ping()),
        ("toolcrib: workspace_read", toolcrib(), read_file()),
        ("Rust SDK: ping", Ok(programs.rmcp()), Request::ping()),
        ("Rust SDK: echo", Ok(programs.rmcp()), echo("echo")),
        ("Rust SDK, non-blocking pipes: echo", Ok(programs.rmcp_pipes()), echo("echo")),
        ("TypeScript SDK: ping", Ok(programs.ts()), Request::ping()),
        ("TypeScript SDK: echo", Ok(programs.ts()), echo("echo")),
    ];
    let mut counted = BTreeMap::new();
    let mut rows = Vec::new();
    for (name, launch, request) in runs {
        let counts =
            launch.and_then(|launch| system_calls(&launch, &request, || programs.own_path("strace")));
        rows.push(row(name, &counts));
        counted.insert(name, counts.unwrap_or_default());
    }
    goals(report, &counted["toolcrib: ping"], &counted["toolcrib: workspace_read"]);
    report.section(Section {
        title: "System calls of one call".into(),
        about: "Over stdio, one call at a time, all threads, counted by `strace`.".into(),
        columns: ["program", "all", "futex", "which"].map(str::to_owned).to_vec(),
        rows,
    });
    Ok(())
}

fn row(name: &str, counts: &anyhow::Result<BTreeMap<String, f64>>) -> Vec<String> {
    match counts {
        Ok(counts) => {
            let named = counts.iter().filter(|(_, count)| **count >= SHARE_MIN);
            let which: Vec<String> = named.map(|(name, count)| format!("{name} {count:.2}")).collect();
            let futex = counts.get("futex").copied().unwrap_or(0.0);
            vec![name.into(), Unit::Count.show(total(counts)), Unit::Count.show(futex), which.join(", ")]
        }
        Err(error) => failed_row(format!("{name}: {error:#}"), 4),
    }
}

fn goals(report: &mut Report, ping: &BTreeMap<String, f64>, read: &BTreeMap<String, f64>) {
    let futex = if read.is_empty() { f64::NAN } else { read.get("futex").copied().unwrap_or(0.0) };
    for (what, ours, theirs, limit) in [
        ("system calls of one `workspace_read`", total(read), total(ping), 4.0),
        ("futex calls of one `workspace_read`", futex, f64::NAN, 0.0),
    ] {
        report.goal(Goal {
            what: what.into(),
            // A stray timer in a thousand calls is no system call of a call.
            ours: (ours / SHARE_MIN).round() * SHARE_MIN,
            yardstick: ("toolcrib `ping`: what is left is the file's own".into(), theirs),
            ratio: ours / theirs,
            unit: Unit::Count,
            limit: Limit::AtMost(limit),
        });
    }
}

fn total(counts: &BTreeMap<String, f64>) -> f64 {
    if counts.is_empty() { f64::NAN } else { counts.values().sum() }
}

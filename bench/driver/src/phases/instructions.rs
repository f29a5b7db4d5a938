//! Instructions of one sequential call over stdio, counted by callgrind: steady where time is not.

use super::read_file;
use super::tables::failed_row;
use crate::bench::Bench;
use crate::counts::instructions;
use crate::message::Request;
use crate::programs::Upstream;
use crate::report::{Report, Section, Unit};

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    if !bench.instructions {
        return Ok(());
    }
    let programs = &bench.programs;
    let mut rows = Vec::new();
    for (name, launch, request) in [
        ("mcp-echo-floor: ping", Ok(programs.mcp_floor(0)), Request::ping()),
        ("toolcrib: ping", programs.toolcrib_stdio(Upstream::None), Request::ping()),
        ("toolcrib: workspace_read", programs.toolcrib_stdio(Upstream::None), read_file()),
        ("Rust SDK: ping", Ok(programs.rmcp()), Request::ping()),
    ] {
        let count =
            launch.and_then(|launch| instructions(&launch, &request, || programs.own_path("callgrind")));
        rows.push(match count {
            Ok(count) => vec![name.into(), Unit::Count.show(count.round())],
            Err(error) => failed_row(format!("{name}: {error:#}"), 2),
        });
    }
    report.section(Section {
        title: "Instructions of one call".into(),
        about: "Over stdio, all threads, without the kernel's; counted by callgrind.".into(),
        columns: ["program", "instructions"].map(str::to_owned).to_vec(),
        rows,
    });
    Ok(())
}

//! How long one client's `ping` takes while another client's large results are passed on and cleaned.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;

use crate::bench::Bench;
use crate::client::{Client as _, await_answer};
use crate::message::Request;
use crate::programs::Upstream;
use crate::report::{Report, Section, Unit};
use crate::round::{READY_TIME_MAX, Servers};
use crate::slices::{Slice, sequential};

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let stdio = Upstream::Stdio { tools: 0 };
    let servers = Servers::one(|port| bench.programs.toolcrib_http(port, stdio))?;
    let large = Request::tool("floor_blob", "{}", "lorem-ipsum");
    let mut client = servers.client()?;
    await_answer(&mut client, &large, READY_TIME_MAX)?;
    let alone = sequential(&mut client, &Request::ping(), bench.budget.slice_time, servers.pid())?;
    let (beside, results) = beside_large(bench, &servers, &large)?;
    let row = |name: String, slice: &Slice| {
        vec![name, Unit::Micros.show(slice.p50_us), Unit::Micros.show(slice.p99_us)]
    };
    report.section(Section {
        title: "`ping` beside another client's large results".into(),
        about: "Over HTTP, one client calls a tool whose result has 31 MiB, again and again, and another one sends `ping`.".into(),
        columns: ["what", "p50", "p99"].map(str::to_owned).to_vec(),
        rows: vec![
            row("alone".into(), &alone),
            row(format!("beside {results} results of 31 MiB"), &beside),
        ],
    });
    Ok(())
}

/// One slice of pings, and how many large results came meanwhile.
fn beside_large(bench: &Bench, servers: &Servers, large: &Request) -> anyhow::Result<(Slice, u32)> {
    let (mut ours, mut theirs) = (servers.client()?, servers.client()?);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let caller = scope.spawn(|| {
            let mut results = 0;
            while !is_over.load(Ordering::Relaxed) {
                theirs.call(large)?;
                results += 1;
            }
            anyhow::Ok(results)
        });
        let slice = sequential(&mut ours, &Request::ping(), bench.budget.slice_time, servers.pid());
        is_over.store(true, Ordering::Relaxed);
        let results = caller.join().ok().context("the other client has panicked")??;
        Ok((slice?, results))
    })
}

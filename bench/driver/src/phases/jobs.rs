//! Calls that are taken as jobs: how long until one begins, beside what the disk takes for one sync; how long until who waits
//! hears of its end; and how many a second are acknowledged, each on the disk.

use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use serde_json::Value;

use crate::bench::Bench;
use crate::client::{Client, await_answer};
use crate::http_crowd::Crowd;
use crate::message::{Request, quoted};
use crate::report::{Goal, Limit, Report, Section, Unit};
use crate::round::{READY_TIME_MAX, Servers};
use crate::stats::median;

use super::read_file;

/// Clients with one call open each.
const CONNECTIONS: [usize; 2] = [1, 64];
/// Jobs that are followed from beginning to end.
const FOLLOWED: usize = 300;
/// What is written before each sync.
const PAGE: [u8; 4096] = [7; 4096];

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let servers = Servers::one(|port| bench.programs.toolcrib_jobs(port))?;
    let mut client = servers.client()?;
    await_answer(&mut client, &now(), READY_TIME_MAX)?;
    let found = follow(bench, &mut client)?;
    let started = median(found.iter().map(|one| one.job_us - one.call_us));
    let (disk, ended) =
        (median(found.iter().map(|one| one.sync_us)), median(found.iter().map(|one| one.ended_us)));
    let mut rows = vec![
        vec!["enqueue to start, beyond a call".into(), Unit::Micros.show(started)],
        vec!["`fdatasync` of 4 KiB".into(), Unit::Micros.show(disk)],
        vec!["its tool's end to the answer of `job_wait`".into(), Unit::Micros.show(ended)],
    ];
    report.goal(Goal {
        what: "a job's enqueue to start".into(),
        ours: started,
        yardstick: ("fdatasync".into(), disk),
        ratio: median(found.iter().map(|one| (one.job_us - one.call_us) / one.sync_us)),
        unit: Unit::Micros,
        limit: Limit::TimesAtMost(3.0),
    });
    for connections in CONNECTIONS {
        let rate = acknowledged(bench, connections)?;
        rows.push(vec![format!("acknowledged, {connections} connections"), Unit::PerSecond.show(rate)]);
        if connections > 1 {
            report.goal(Goal {
                what: format!("jobs acknowledged a second, {connections} connections"),
                ours: rate,
                yardstick: ("-".into(), f64::NAN),
                ratio: f64::NAN,
                unit: Unit::PerSecond,
                limit: Limit::AtLeast(2_000.0),
            });
        }
    }
    report.section(Section {
        title: "Jobs".into(),
        about: format!(
            "Over HTTP. {FOLLOWED} calls of a tool that tells when it ran, by turns at once, as jobs, and beside syncs of a \
             file in the same folder; medians. Then calls of `workspace_read` as jobs, which run meanwhile."
        ),
        columns: ["what", "median"].map(str::to_owned).to_vec(),
        rows,
    });
    Ok(())
}

/// One turn, in microseconds.
struct Turn {
    /// From sending a call until its tool runs.
    call_us: f64,
    /// The same as a job.
    job_us: f64,
    /// From the end of the job's tool until its client knows.
    ended_us: f64,
    /// A sync of the disk.
    sync_us: f64,
}

fn follow(bench: &Bench, client: &mut dyn Client) -> anyhow::Result<Vec<Turn>> {
    let mut file = File::create(bench.programs.own_path("synced"))?;
    let mut turns = Vec::new();
    for _ in 0..FOLLOWED {
        let sent = nanoseconds();
        client.call(&now())?;
        let call_us = micros(text(client.last_answer())? - sent);
        let sent = nanoseconds();
        client.call(&now().as_job())?;
        let id = job_id(client.last_answer())?;
        let arguments = format!(r#"{{"job_id":{}}}"#, quoted(&id));
        client.call(&Request::tool("job_wait", &arguments, "succeeded"))?;
        let known = nanoseconds();
        client.call(&Request::tool("job_result", &arguments, ""))?;
        let ran = text(client.last_answer())?;
        file.write_all(&PAGE)?;
        let began = Instant::now();
        file.sync_data()?;
        let sync_us = began.elapsed().as_secs_f64() * 1e6;
        turns.push(Turn { call_us, job_us: micros(ran - sent), ended_us: micros(known - ran), sync_us });
    }
    Ok(turns)
}

fn acknowledged(bench: &Bench, connections: usize) -> anyhow::Result<f64> {
    let servers = Servers::one(|port| bench.programs.toolcrib_jobs(port))?;
    let request = read_file().as_job();
    await_answer(&mut servers.client()?, &request, READY_TIME_MAX)?;
    let mut crowd = Crowd::gather(connections, || servers.client())?;
    // No longer: what is acknowledged faster than it runs waits, and there is room for 10,000.
    let time = bench.budget.slice_time.min(Duration::from_secs(2));
    Ok(crowd.slice(&request, time, servers.pid())?.calls_per_second)
}

fn now() -> Request {
    Request::tool("floor_now", "{}", "")
}

fn nanoseconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as f64
}

fn micros(nanoseconds: f64) -> f64 {
    nanoseconds / 1e3
}

/// The number that is the text of an answer.
fn text(answer: &[u8]) -> anyhow::Result<f64> {
    let answer: Value = serde_json::from_slice(answer)?;
    let text = answer["result"]["content"][0]["text"].as_str().context("an answer without a text")?;
    text.parse().with_context(|| format!("no time: {text}"))
}

fn job_id(answer: &[u8]) -> anyhow::Result<String> {
    let answer: Value = serde_json::from_slice(answer)?;
    let id = answer["result"]["_meta"]["toolcrib/job"]["job_id"].as_str();
    Ok(id.with_context(|| format!("no job: {answer}"))?.to_owned())
}

//! Starts of `true` until the end is known: bare, in our sandbox and in others; and what a live one costs.

use std::time::{Duration, Instant};

use anyhow::ensure;
use sandbox::confine::{Layer, Profile};

use super::tables::{latencies, latency_goal};
use crate::bench::Bench;
use crate::confined::Starts;
use crate::proc_figures::memory;
use crate::process::Launch;
use crate::report::{Goal, Limit, Report, Section, Unit};
use crate::round::Round;
use crate::slices::{from_times, nanoseconds};

const BARE: &str = "posix_spawn";
const ALL: &str = "toolcrib, all layers";
const WRITTEN: &str = "toolcrib, all layers, workspace written";
const NO_NETWORK: &str = "toolcrib, no network namespace";
const POOLED: &str = "toolcrib, from the pool";

const TRUE: &[&str] = &["/usr/bin/true"];

/// What lives until it is ended.
const SLEEP: &[&str] = &["/usr/bin/sleep", "1000"];

/// Starts in one slice.
const STARTS: usize = 24;

/// The same of programs that take a hundred times as long.
const SLOW_STARTS: usize = 5;

/// As root there are 64 at once.
const LIVE: usize = 50;

const LIVE_BYTES_MAX: f64 = 64.0 * 1024.0;

/// An ordinary user whom the kernel gives no network.
const NO_NETWORK_LINE: [&str; 6] =
    ["--user", "--map-user=4343", "--map-group=4343", "--keep-caps", "sh", "-c"];
const NO_NETWORK_SCRIPT: &str = "echo 0 > /proc/sys/user/max_net_namespaces && exec \"$0\" \"$@\"";

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    // First: what the starts leave in our heap would hide it.
    live(bench, report)?;
    starts(bench, report);
    Ok(())
}

fn starts(bench: &Bench, report: &mut Report) {
    let programs = &bench.programs;
    let mut round = Round::new(bench);
    other(&mut round, BARE, STARTS, Ok(programs.bare(TRUE)));
    ours(&mut round, ALL, sandboxes(bench, Profile::shell(), TRUE));
    let pooled = sandboxes(bench, Profile::shell(), TRUE)
        .and_then(|starts| Ok(Starts::pooled(programs.spawner()?, starts)));
    ours(&mut round, POOLED, pooled);
    ours(&mut round, NO_NETWORK, no_network(bench));
    ours(&mut round, WRITTEN, sandboxes(bench, Profile::write(), TRUE));
    other(&mut round, "bwrap (Debian)", STARTS, Ok(programs.bwrap(TRUE)));
    other(&mut round, "codex sandbox", SLOW_STARTS, programs.codex(TRUE));
    other(&mut round, "srt", SLOW_STARTS, Ok(programs.srt("/usr/bin/true")));
    let results = round.run();
    for (what, ours, limit) in [
        ("start with all layers", ALL, 4.0),
        ("start without a network namespace", NO_NETWORK, 2.8),
        ("start from the pool", POOLED, 1.6),
    ] {
        report.goal(latency_goal(what, &results, ours, BARE, Limit::TimesAtMost(limit)));
    }
    let about = "From the start of `true` until its end is known. Ours are asked for and awaited as the product does it, by its own \
                 spawner; the pool is full before each of its starts. The one without a network namespace runs where the kernel gives \
                 none. bwrap has all namespaces, a small root and no capabilities, and neither Landlock nor filters. The program of \
                 `codex sandbox` is started without its launcher for Node; srt by its own.";
    report.section(latencies("Sandboxes", about, &results, BARE));
}

fn sandboxes(bench: &Bench, profile: Profile, line: &[&str]) -> anyhow::Result<Starts> {
    let workspace = bench.programs.own_path("workspace");
    std::fs::create_dir(&workspace)?;
    Starts::new(bench.programs.spawner()?, profile, line, workspace)
}

fn no_network(bench: &Bench) -> anyhow::Result<Starts> {
    let (spawner, words) = bench.programs.spawner()?;
    let mut line: Vec<String> = NO_NETWORK_LINE.map(str::to_owned).into();
    line.extend([NO_NETWORK_SCRIPT.to_owned(), spawner.to_string_lossy().into_owned()]);
    line.extend(words);
    let workspace = bench.programs.own_path("workspace");
    std::fs::create_dir(&workspace)?;
    let starts = Starts::new(("/usr/bin/unshare".into(), line), Profile::shell(), TRUE, workspace)?;
    Ok(starts.without(Layer::NetworkNamespace))
}

fn ours(round: &mut Round<'_>, name: &str, starts: anyhow::Result<Starts>) {
    round.add(name, || {
        let starts = starts?;
        // The first starts the spawner, too.
        starts.time()?;
        Ok(Box::new(move |_| {
            let times = (0..STARTS).map(|_| starts.time().map(nanoseconds)).collect::<anyhow::Result<_>>()?;
            Ok(from_times(times, Duration::ZERO, None))
        }))
    });
}

fn other(round: &mut Round<'_>, name: &str, count: usize, launch: anyhow::Result<Launch>) {
    round.add(name, || {
        let launch = launch?;
        let once = move || {
            let start = Instant::now();
            let status = launch.run()?;
            let elapsed = start.elapsed();
            let log = std::fs::read_to_string(&launch.log).unwrap_or_default();
            ensure!(
                status.success(),
                "it cannot be had here ({status}): {}",
                log.lines().last().unwrap_or_default()
            );
            Ok(elapsed)
        };
        once()?;
        Ok(Box::new(move |_| {
            let times = (0..count).map(|_| once().map(nanoseconds)).collect::<anyhow::Result<_>>()?;
            Ok(from_times(times, Duration::ZERO, None))
        }))
    });
}

fn live(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    // With a way out, which is served here.
    let starts = sandboxes(bench, Profile::net(), SLEEP)?;
    let mut live = vec![starts.start()?];
    let ourselves = std::process::id();
    let spawner = starts.spawner().unwrap_or_default();
    let before = [ourselves, spawner].map(|pid| memory(pid).resident);
    for _ in 0..LIVE {
        live.push(starts.start()?);
    }
    let after = [ourselves, spawner].map(|pid| memory(pid).resident);
    let each = |nth: usize| after[nth].saturating_sub(before[nth]) as f64 / LIVE as f64;
    report.goal(Goal {
        what: "resident in Toolcrib for a live sandbox".into(),
        ours: each(0),
        yardstick: (String::new(), f64::NAN),
        ratio: f64::NAN,
        unit: Unit::SmallBytes,
        limit: Limit::AtMost(LIVE_BYTES_MAX),
    });
    report.section(Section {
        title: "Live sandboxes".into(),
        about: format!("What is resident more in each process while {LIVE} more programs with a network sleep confined, for each of them."),
        columns: ["process", "for each"].map(str::to_owned).to_vec(),
        rows: [("who asks: Toolcrib", 0), ("spawner", 1)]
            .map(|(name, nth)| vec![name.to_owned(), Unit::SmallBytes.show(each(nth))])
            .into(),
    });
    Ok(())
}

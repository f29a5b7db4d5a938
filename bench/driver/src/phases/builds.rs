//! The product beside another build of itself, named by `--beside FILE`: what a change costs. The goals of the other
//! phases hold against floors; this one says what became worse.

use super::start::start;
use super::{echo, read_file};
use crate::bench::Bench;
use crate::client::list_tools;
use crate::message::Request;
use crate::placement::Placement;
use crate::proc_figures::memory;
use crate::programs::{Programs, Rules, Upstream};
use crate::report::{Report, Section, Unit, times};
use crate::round::{Round, Servers};
use crate::slices::{Series, Slice, from_times, nanoseconds};
use crate::stdio_client::StdioClient;

/// Clients with one call open each, and calls in flight over stdio.
const AT_ONCE: usize = 64;
const THIS: &str = "this build";
const OTHER: &str = "the other";

/// Adds one build's lane to the round, under that name.
type Add = fn(&mut Round<'_>, &Programs, &str);

/// What is measured, and whether more is better.
const LINES: &[(&str, Placement, Figure, Add)] = &[
    ("stdio `ping`", Placement::OneCore, Figure::Time, |round, programs, name| {
        round.stdio(name, programs.toolcrib_stdio(Upstream::None), &Request::ping());
    }),
    ("stdio `tools/call`", Placement::OneCore, Figure::Time, |round, programs, name| {
        round.stdio(name, programs.toolcrib_stdio(Upstream::None), &read_file());
    }),
    (
        "stdio `tools/call`, revision 2026-07-28",
        Placement::OneCore,
        Figure::Time,
        |round, programs, name| {
            round.stdio(name, programs.toolcrib_stdio(Upstream::None), &read_file().modern());
        },
    ),
    ("stdio `tools/call`, rules of every kind", Placement::OneCore, Figure::Time, |round, programs, name| {
        round.stdio(name, programs.toolcrib_ruled(Rules::All), &read_file());
    }),
    ("stdio, 64 `tools/call` in flight", Placement::Free, Figure::Rate, |round, programs, name| {
        let client =
            programs.toolcrib_stdio(Upstream::None).and_then(|launch| StdioClient::open(&launch));
        round.in_flight(name, client, AT_ONCE, &read_file());
    }),
    ("HTTP `tools/call`", Placement::OneCore, Figure::Time, |round, programs, name| {
        let servers = Servers::one(|port| programs.toolcrib_http(port, Upstream::None));
        round.http(name, servers, &read_file());
    }),
    ("proxied, HTTP to stdio", Placement::OneCore, Figure::Time, |round, programs, name| {
        round.http(name, to_stdio(programs), &echo("floor_echo"));
    }),
    (
        "proxied, HTTP to stdio, each call on the disk first",
        Placement::OneCore,
        Figure::Time,
        |round, programs, name| {
            let servers = Servers::one(|port| programs.toolcrib_http(port, Upstream::Synced));
            round.http(name, servers, &echo("floor_echo"));
        },
    ),
    ("proxied, HTTP to HTTP", Placement::OneCore, Figure::Time, |round, programs, name| {
        round.http(name, to_http(programs), &echo("floor_echo"));
    }),
    ("proxied, HTTP to stdio, 64 connections", Placement::Free, Figure::Rate, |round, programs, name| {
        round.crowd(name, to_stdio(programs), AT_ONCE, &echo("floor_echo"));
    }),
    ("proxied, HTTP to HTTP, 64 connections", Placement::Free, Figure::Rate, |round, programs, name| {
        round.crowd(name, to_http(programs), AT_ONCE, &echo("floor_echo"));
    }),
    ("spawn to `initialize`", Placement::Free, Figure::Time, |round, programs, name| {
        let launch = programs.toolcrib_default();
        round.add(name, || {
            let launch = launch?;
            start(&launch)?;
            Ok(Box::new(move |_| {
                let time = nanoseconds(start(&launch)?);
                Ok(from_times(vec![time], std::time::Duration::ZERO, None))
            }))
        });
    }),
];

/// Which figure of a slice counts.
#[derive(Clone, Copy)]
enum Figure {
    /// The p50 of one call.
    Time,
    /// Calls a second.
    Rate,
}

impl Figure {
    fn of(self, slice: &Slice) -> f64 {
        match self {
            Self::Time => slice.p50_us,
            Self::Rate => slice.calls_per_second,
        }
    }

    fn unit(self) -> Unit {
        match self {
            Self::Time => Unit::Micros,
            Self::Rate => Unit::PerSecond,
        }
    }
}

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let Some(other) = &bench.beside else { return Ok(()) };
    let mut rows = Vec::new();
    for (what, placement, figure, add) in LINES {
        let _placed = placement.enter()?;
        let mut round = Round::new(bench);
        add(&mut round, &bench.programs, THIS);
        add(&mut round, other, OTHER);
        let results = round.run();
        rows.push(row(what, *figure, results.of(THIS), results.of(OTHER)));
    }
    let (ours, theirs) = (private_at_rest(&bench.programs)?, private_at_rest(other)?);
    let shown = [ours, theirs].map(|bytes| Unit::Bytes.show(bytes));
    rows.push(["private memory at rest, stdio".into()].into_iter().chain(shown).chain([times(ours / theirs)]).collect());
    report.section(Section {
        title: "Beside another build".into(),
        about: "The same lines as above for this build and another one, in turn in the same slices; ratios are medians over pairs of slices."
            .into(),
        columns: ["what", THIS, OTHER, "ratio"].map(str::to_owned).to_vec(),
        rows,
    });
    Ok(())
}

fn row(what: &str, figure: Figure, ours: &Series, theirs: &Series) -> Vec<String> {
    let shown = [ours, theirs].map(|series| match &series.failure {
        Some(reason) => reason.replace('|', "¦"),
        None => figure.unit().show(series.median(|slice| figure.of(slice))),
    });
    let ratio = ours.paired(theirs, |slice| figure.of(slice), |ours, theirs| ours / theirs);
    [what.to_owned()].into_iter().chain(shown).chain([times(ratio)]).collect()
}

fn to_stdio(programs: &Programs) -> anyhow::Result<Servers> {
    Servers::one(|port| programs.toolcrib_http(port, Upstream::Stdio { tools: 0 }))
}

fn to_http(programs: &Programs) -> anyhow::Result<Servers> {
    Servers::before_floor(programs, |port, behind| {
        programs.toolcrib_http(port, Upstream::Http { port: behind })
    })
}

/// Bytes.
fn private_at_rest(programs: &Programs) -> anyhow::Result<f64> {
    let mut client = StdioClient::open(&programs.toolcrib_default()?)?;
    list_tools(&mut client)?;
    Ok(memory(client.running.pid()).private as f64)
}

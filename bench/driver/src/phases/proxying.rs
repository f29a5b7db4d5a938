//! What a gateway adds to a call of the leanest upstream, over stdio and over HTTP behind.

use super::echo;
use super::tables::{latencies, rate_goal, throughputs};
use crate::bench::Bench;
use crate::message::Request;
use crate::placement::Placement;
use crate::programs::Upstream;
use crate::report::{Goal, Limit, Report, Unit};
use crate::round::{Results, Round, Servers};
use crate::slices::Slice;

/// Clients with one call open each.
const CONNECTIONS: usize = 64;
const DIRECT_STDIO: &str = "the upstream itself over stdio";
const DIRECT_HTTP: &str = "the upstream itself over HTTP";
const BARE_TO_STDIO: &str = "bare gateway, HTTP to stdio";
const BARE_TO_HTTP: &str = "bare gateway, HTTP to HTTP";
const TO_STDIO: &str = "toolcrib, HTTP to stdio";
const TO_STDIO_SYNCED: &str = "toolcrib, HTTP to stdio, each call on the disk first";
const TO_HTTP: &str = "toolcrib, HTTP to HTTP";

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    for placement in [Placement::OneCore, Placement::Free] {
        let _placed = placement.enter()?;
        let mut round = Round::new(bench);
        round.stdio(DIRECT_STDIO, Ok(bench.programs.mcp_floor(0)), &echo("echo"));
        for (name, servers, request) in lanes(bench) {
            round.http(name, servers, &request);
        }
        let over_stdio = bench.programs.toolcrib_stdio(Upstream::Stdio { tools: 0 });
        round.stdio("toolcrib, stdio to stdio", over_stdio, &echo("floor_echo"));
        let results = round.run();
        if placement == Placement::OneCore {
            goals(report, &results);
        }
        let title = format!("Proxied `tools/call`, one client, {}", placement.name());
        let about = "The upstream is mcp-echo-floor. \"One core\" holds the client, the gateway and the upstream. It is believed that \
             its tool only reads (`trust = \"trust\"`), but in one row: there each call waits until its note would \
             survive a power cut, as calls of a server's tools do by default.";
        report.section(latencies(&title, about, &results, DIRECT_HTTP));
    }
    let mut round = Round::new(bench);
    for (name, servers, request) in lanes(bench) {
        round.crowd(name, servers, CONNECTIONS, &request);
    }
    let title = format!("Proxied `tools/call`, {CONNECTIONS} connections");
    let results = round.run();
    crowd_goals(report, &results);
    report.section(throughputs(&title, "Each client has a session of its own.", &results, DIRECT_HTTP));
    Ok(())
}

fn lanes(bench: &Bench) -> [(&'static str, anyhow::Result<Servers>, Request); 10] {
    let programs = &bench.programs;
    let stdio = Upstream::Stdio { tools: 0 };
    let http = |port| Upstream::Http { port };
    [
        (DIRECT_HTTP, Servers::one(|port| Ok(programs.mcp_floor_http(port, 0))), echo("echo")),
        (
            "tcp-relay, blind",
            Servers::before_floor(programs, |port, behind| Ok(programs.tcp_relay(port, behind))),
            echo("echo"),
        ),
        (BARE_TO_STDIO, Servers::one(|port| Ok(programs.bare_gateway_stdio(port))), echo("echo")),
        (
            "bare gateway on hyper and tokio, HTTP to stdio",
            Servers::one(|port| Ok(programs.library_gateway(port))),
            echo("echo"),
        ),
        (
            BARE_TO_HTTP,
            Servers::before_floor(programs, |port, behind| Ok(programs.bare_gateway_http(port, behind))),
            echo("echo"),
        ),
        (TO_STDIO, Servers::one(|port| programs.toolcrib_http(port, stdio)), echo("floor_echo")),
        (
            TO_STDIO_SYNCED,
            Servers::one(|port| programs.toolcrib_http(port, Upstream::Synced)),
            echo("floor_echo"),
        ),
        (
            TO_HTTP,
            Servers::before_floor(programs, |port, behind| programs.toolcrib_http(port, http(behind))),
            echo("floor_echo"),
        ),
        (
            "FastMCP proxy, HTTP to stdio",
            Servers::one(|port| Ok(programs.fastmcp(port, stdio))),
            echo("echo"),
        ),
        (
            "FastMCP proxy, HTTP to HTTP",
            Servers::before_floor(programs, |port, behind| Ok(programs.fastmcp(port, http(behind)))),
            echo("echo"),
        ),
    ]
}

/// What is added may be so many times what the least gateway adds; with a sync of the disk before each call, so many.
const ADDED_TIMES_MAX: f64 = 2.0;
const ADDED_SYNCED_TIMES_MAX: f64 = 8.0;
/// Of the least gateway's calls a second, with many connections.
const RATE_TIMES_MIN: f64 = 0.6;

/// "Added" is the p50 through the gateway less that of the upstream over the client's own transport, HTTP, so
/// that it holds the gateway's work and not the client's change of transport. The other reading is shown below.
fn goals(report: &mut Report, results: &Results) {
    for (ours, direct, limit) in
        [(TO_STDIO, DIRECT_HTTP, 15.0), (TO_STDIO, DIRECT_STDIO, 15.0), (TO_HTTP, DIRECT_HTTP, 22.0)]
    {
        let p50 = |slice: &Slice| slice.p50_us;
        let (ours, theirs) = (results.of(ours), results.of(direct));
        report.goal(Goal {
            what: format!("p50 added by {} over {direct}", ours.name),
            ours: ours.paired(theirs, p50, |ours, theirs| ours - theirs),
            yardstick: (direct.into(), theirs.median(p50)),
            ratio: ours.paired(theirs, p50, |ours, theirs| ours / theirs),
            unit: Unit::Micros,
            limit: Limit::AtMost(limit),
        });
    }
    for (ours, bare, times) in [
        (TO_STDIO, BARE_TO_STDIO, ADDED_TIMES_MAX),
        (TO_STDIO_SYNCED, BARE_TO_STDIO, ADDED_SYNCED_TIMES_MAX),
        (TO_HTTP, BARE_TO_HTTP, ADDED_TIMES_MAX),
    ] {
        let direct = results.of(DIRECT_HTTP);
        let added = |name: &str| {
            results.of(name).paired(direct, |slice| slice.p50_us, |gateway, direct| gateway - direct)
        };
        report.goal(Goal {
            what: format!("p50 added by {ours} beside what a bare gateway adds"),
            ours: added(ours),
            yardstick: (bare.into(), added(bare)),
            ratio: added(ours) / added(bare),
            unit: Unit::Micros,
            limit: Limit::TimesAtMost(times),
        });
    }
}

/// The goals with many connections.
fn crowd_goals(report: &mut Report, results: &Results) {
    for (ours, bare) in [(TO_STDIO, BARE_TO_STDIO), (TO_HTTP, BARE_TO_HTTP)] {
        let what = format!("{ours}, {CONNECTIONS} connections");
        report.goal(rate_goal(&what, results, ours, bare, Limit::TimesAtLeast(RATE_TIMES_MIN)));
    }
}

//! One comparison: programs opened one after the other, then measured in turn. A program that does not start
//! costs its own row and nothing else.

use std::time::Duration;

use super::client::await_answer;
use super::http_client::{HttpClient, HttpServer};
use super::http_crowd::Crowd;
use super::message::Request;
use super::process::Launch;
use super::programs::Programs;
use super::slices::{Lane, Series, SliceFn, interleave, sequential, warm_up};
use super::stdio_client::{SILENCE_MAX, StdioClient};
use crate::bench::Bench;

/// A gateway may start its upstream only when it is first called.
pub(crate) const READY_TIME_MAX: Duration = Duration::from_secs(10);

/// HTTP servers of one lane: the one that is called, and what it has behind it.
pub(crate) struct Servers {
    called: HttpServer,
    /// Whether the called one speaks MCP; a bare echo does not.
    speaks_mcp: bool,
    /// Kept running, and ended after the called one.
    _behind: Option<HttpServer>,
}

impl Servers {
    /// One MCP server.
    pub(crate) fn one(start: impl FnOnce(u16) -> anyhow::Result<Launch>) -> anyhow::Result<Self> {
        Ok(Self { called: HttpServer::start(start)?, speaks_mcp: true, _behind: None })
    }

    /// A server that sends back what it gets.
    pub(crate) fn echo(programs: &Programs) -> anyhow::Result<Self> {
        let called = HttpServer::start(|port| Ok(programs.http_echo(port)))?;
        Ok(Self { called, speaks_mcp: false, _behind: None })
    }

    /// A gateway, made from its own port and its upstream's, in front of the floor over HTTP.
    pub(crate) fn before_floor(
        programs: &Programs,
        start: impl FnOnce(u16, u16) -> anyhow::Result<Launch>,
    ) -> anyhow::Result<Self> {
        let behind = HttpServer::start(|port| Ok(programs.mcp_floor_http(port, 0)))?;
        let called = HttpServer::start(|port| start(port, behind.port))?;
        Ok(Self { called, speaks_mcp: true, _behind: Some(behind) })
    }

    /// A client of the called one.
    pub(crate) fn client(&self) -> anyhow::Result<HttpClient> {
        if self.speaks_mcp { self.called.client() } else { HttpClient::bare(self.called.port) }
    }

    /// The process id of the called one.
    pub(crate) fn pid(&self) -> u32 {
        self.called.running.pid()
    }
}

/// Lanes that are being put together.
pub(crate) struct Round<'a> {
    bench: &'a Bench,
    lanes: Vec<Lane<'a>>,
}

impl<'a> Round<'a> {
    pub(crate) fn new(bench: &'a Bench) -> Self {
        Self { bench, lanes: Vec::new() }
    }

    /// Adds a lane; `open` starts the program and makes the function that measures one slice.
    pub(crate) fn add(&mut self, name: &str, open: impl FnOnce() -> anyhow::Result<SliceFn<'a>>) {
        self.lanes.push(Lane { name: name.into(), slice: open() });
    }

    /// A stdio server, one call at a time.
    pub(crate) fn stdio(&mut self, name: &str, launch: anyhow::Result<Launch>, request: &Request) {
        let bench = self.bench;
        self.add(name, || calls(bench, StdioClient::open(&launch?)?, request.clone()));
    }

    /// A program that sends back what it gets, one message at a time.
    pub(crate) fn pipe_echo(&mut self, name: &str, request: &Request) {
        let bench = self.bench;
        self.add(name, || calls(bench, StdioClient::bare(&bench.programs.pipe_echo())?, request.echoed()));
    }

    /// A stdio server with `window` calls in flight.
    pub(crate) fn in_flight(
        &mut self,
        name: &str,
        client: anyhow::Result<StdioClient>,
        window: usize,
        request: &Request,
    ) {
        let (bench, request) = (self.bench, request.clone());
        self.add(name, || {
            let mut client = client?;
            client.pipelined(&request, window, bench.budget.slice_time)?;
            Ok(Box::new(move |time| client.pipelined(&request, window, time)))
        });
    }

    /// An HTTP server over one connection, one call at a time.
    pub(crate) fn http(&mut self, name: &str, servers: anyhow::Result<Servers>, request: &Request) {
        let (bench, request) = (self.bench, request.clone());
        self.add(name, || {
            let servers = servers?;
            let mut client = servers.client()?;
            await_answer(&mut client, &request, READY_TIME_MAX)?;
            warm_up(&mut client, &request, bench.budget)?;
            Ok(Box::new(move |time| sequential(&mut client, &request, time, servers.pid())))
        });
    }

    /// An HTTP server with `size` clients at once.
    pub(crate) fn crowd(
        &mut self,
        name: &str,
        servers: anyhow::Result<Servers>,
        size: usize,
        request: &Request,
    ) {
        let (bench, request) = (self.bench, request.clone());
        self.add(name, || {
            let servers = servers?;
            await_answer(&mut servers.client()?, &request, READY_TIME_MAX)?;
            let mut crowd = Crowd::gather(size, || servers.client())?;
            crowd.slice(&request, bench.budget.slice_time, servers.pid())?;
            Ok(Box::new(move |time| crowd.slice(&request, time, servers.pid())))
        });
    }

    /// Measures them in turn.
    pub(crate) fn run(self) -> Results {
        Results { series: interleave(self.lanes, self.bench.budget) }
    }
}

fn calls<'a>(bench: &'a Bench, mut client: StdioClient, request: Request) -> anyhow::Result<SliceFn<'a>> {
    let watch = client.running.within(READY_TIME_MAX + bench.budget.slice_time);
    await_answer(&mut client, &request, READY_TIME_MAX)?;
    warm_up(&mut client, &request, bench.budget)?;
    drop(watch);
    Ok(Box::new(move |time| {
        let _watch = client.running.within(SILENCE_MAX + time);
        let pid = client.running.pid();
        sequential(&mut client, &request, time, pid)
    }))
}

/// One series for each lane, in the order they were added.
pub(crate) struct Results {
    pub(crate) series: Vec<Series>,
}

impl Results {
    /// The series of a lane.
    pub(crate) fn of(&self, name: &str) -> &Series {
        self.series.iter().find(|series| series.name == name).expect("a phase asks for lanes it has added")
    }
}

//! The list of phases. Each is one file: what is started, what is called, which goals it judges.

mod agent;
mod beside;
mod builds;
mod front;
mod http;
mod in_flight;
mod instructions;
mod jobs;
mod memory;
mod processes;
mod proxying;
mod sandbox;
mod start;
mod stdio;
mod steps;
mod system_calls;
mod tables;
mod tokens;
mod tool_list;

use super::message::{Request, quoted};
use super::programs::FILE;
use super::report::Report;
use crate::bench::Bench;

/// One part of the bench.
pub(crate) struct Phase {
    /// What is typed to run it alone.
    pub(crate) name: &'static str,
    /// A line for the one who waits.
    pub(crate) about: &'static str,
    /// Measures, and adds what it found to the page.
    pub(crate) run: fn(&Bench, &mut Report) -> anyhow::Result<()>,
}

/// In the order of the page.
pub(crate) const PHASES: &[Phase] = &[
    Phase { name: "stdio", about: "one call at a time over stdio", run: stdio::run },
    Phase { name: "steps", about: "instructions of each step of the gate", run: steps::run },
    Phase { name: "syscalls", about: "system calls of one call over stdio", run: system_calls::run },
    Phase { name: "inflight", about: "64 calls in flight over stdio", run: in_flight::run },
    Phase { name: "http", about: "one and 64 connections over HTTP", run: http::run },
    Phase { name: "proxy", about: "a call through a gateway to the leanest upstream", run: proxying::run },
    Phase { name: "beside", about: "pings beside another client's 31 MiB results", run: beside::run },
    Phase { name: "jobs", about: "calls as jobs: acknowledged, begun, ended", run: jobs::run },
    Phase { name: "start", about: "from spawn to the answer to initialize", run: start::run },
    Phase { name: "front", about: "calls and starts through a front", run: front::run },
    Phase { name: "memory", about: "resident memory at rest and with 1,000 sessions", run: memory::run },
    Phase { name: "list", about: "tools/list with 1,000 upstream tools", run: tool_list::run },
    Phase { name: "processes", about: "100 clients and one stdio upstream", run: processes::run },
    Phase { name: "sandbox", about: "starts of `true` in sandboxes", run: sandbox::run },
    Phase {
        name: "agent",
        about: "the coding agent's tools beside the least they must cost",
        run: agent::run,
    },
    Phase { name: "tokens", about: "the size of the list of tools", run: tokens::run },
    Phase { name: "builds", about: "this build beside another, with --beside", run: builds::run },
    Phase {
        name: "instructions",
        about: "instructions of one call, with --instructions",
        run: instructions::run,
    },
];

/// The text that the echo tools are called with.
const TEXT: &str = "hello from the workspace";

/// A call of an echo tool.
fn echo(tool: &str) -> Request {
    Request::tool(tool, &format!(r#"{{"message":{}}}"#, quoted(TEXT)), TEXT)
}

/// A call of the product's own read tool for a small file.
fn read_file() -> Request {
    Request::tool("workspace_read", &format!(r#"{{"path":{}}}"#, quoted(FILE.0)), FILE.1)
}

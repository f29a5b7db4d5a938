//! `cargo xtask bench [PHASE…] [--quick] [--peers] [--instructions] [--beside PROGRAM] [--out FILE]`: how fast the release build is,
//! beside floors and peers measured in the same run. The result is a page of tables; no time is ever asserted.
//!
//! The driver plays an MCP client over stdio and HTTP, on one thread and without an async runtime. [`phases`] is
//! the list of what it measures; the programs it measures against are its neighbours in the folder `bench`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "prints for the person who measures")]

mod bench;
mod client;
mod confined;
mod counts;
mod http_client;
mod http_crowd;
mod http_response;
mod install;
mod machine;
mod message;
mod options;
mod phases;
mod placement;
mod proc_figures;
mod process;
mod programs;
mod report;
mod round;
mod run;
mod slices;
mod stats;
mod stdio_client;
mod watchdog;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run::run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\n{error:#}");
            ExitCode::FAILURE
        }
    }
}

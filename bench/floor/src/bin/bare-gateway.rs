//! The least gateway: `--port N` and, behind it, `--upstream N` or `--program PATH`.

use floor::gateway_loop::{Behind, serve};

fn main() -> std::io::Result<()> {
    let port = floor::argument::number("--port").ok_or(std::io::ErrorKind::InvalidInput)?;
    let upstream = floor::argument::number("--upstream").map(Behind::Port);
    let program = || floor::argument::text("--program").map(Behind::Program);
    serve(port, upstream.or_else(program).ok_or(std::io::ErrorKind::InvalidInput)?)
}

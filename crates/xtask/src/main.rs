//! `cargo xtask`, as cargo's alias starts it.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::run()
}

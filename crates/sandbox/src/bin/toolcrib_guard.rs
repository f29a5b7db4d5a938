//! The process guard as a program of its own. The product re-executes itself instead; this one is for
//! tests.

fn main() {
    std::process::exit(sandbox::guard::main(std::env::args_os().skip(1)));
}

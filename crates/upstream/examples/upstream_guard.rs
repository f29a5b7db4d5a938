//! The process guard as a program of its own, for this crate's tests. Examples are built with the tests,
//! so it is never older than they are. The product re-executes itself instead.

fn main() {
    std::process::exit(sandbox::guard::main(std::env::args_os().skip(1)));
}

//! The spawner of confined programs, and what tries to escape from it, as a program of its own. The product re-executes
//! itself instead; this one is for tests.

fn main() {
    let mut words = std::env::args_os().skip(1);
    let code = match words.next() {
        Some(_) => sandbox::confine::probe_main(words),
        None => sandbox::confine::spawner_main(),
    };
    std::process::exit(code);
}

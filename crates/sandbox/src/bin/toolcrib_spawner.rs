//! The spawner of confined programs, and what tries to escape from it, as a program of its own. The product re-executes
//! itself instead; this one is for tests, and can be told of another `bwrap`.

use std::path::Path;

fn main() {
    let mut words = std::env::args_os().skip(1).peekable();
    let code = if words.next_if(|word| word == "probe").is_some() {
        sandbox::confine::probe_main(words)
    } else if words.next_if(|word| word == "bwrap").is_some() {
        let bwrap = words.next().unwrap_or_default();
        sandbox::confine::spawner_main_with(words, Path::new(&bwrap))
    } else {
        sandbox::confine::spawner_main(words)
    };
    std::process::exit(code);
}

//! The process guard as a program of its own, for this crate's tests; with the argument `spawner` it starts confined
//! programs. Examples are built with the tests, so it is never older than they are. The product re-executes itself instead.

fn main() {
    let mut words = std::env::args_os().skip(1).peekable();
    let code = match words.next_if(|word| word == "spawner") {
        Some(_) => sandbox::confine::spawner_main(words),
        None => sandbox::guard::main(words),
    };
    std::process::exit(code);
}

//! The same once more as an ordinary user, if we are root.

use std::process::Command;

/// Nobody's number.
const USER: &str = "4242";

fn check(words: &[&str]) {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", USER, "--regid", USER, "--clear-groups", "--inh-caps=-all"]);
    command.arg(std::env::current_exe().expect("ours")).args(words).arg("--test-threads=2");
    let output = command.env("HOME", "/nonexistent").output().expect("setpriv");
    assert!(output.status.success(), "{words:?}\n{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn all_that_holds_holds_for_an_ordinary_user() {
    for group in [
        "aside::",
        "bombs::",
        "escapes::",
        "guarded::",
        "missing_layers::",
        "pool::",
        "runs::",
        "servers::",
        "template::",
        "terminal::",
    ] {
        check(&[group]);
    }
}

#[test]
fn all_ends_hold_for_an_ordinary_user() {
    check(&["ends::"]);
}

#[test]
#[ignore = "takes minutes and needs strace: `cargo xtask long sandbox`"]
fn all_faults_hold_for_an_ordinary_user() {
    check(&["faults::", "--ignored"]);
}

//! The same once more as an ordinary user, if we are root.

use std::process::Command;

/// Nobody's number.
const USER: &str = "4242";

#[test]
fn all_of_it_holds_for_an_ordinary_user() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let ours = std::env::current_exe().expect("ours");
    for group in ["escapes::", "runs::", "missing_layers::", "ends::"] {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", USER, "--regid", USER, "--clear-groups", "--inh-caps=-all"]);
        command.arg(&ours).args([group, "--test-threads=2"]).env("HOME", "/nonexistent");
        let output = command.output().expect("setpriv");
        assert!(output.status.success(), "{group}\n{}", String::from_utf8_lossy(&output.stdout));
    }
}

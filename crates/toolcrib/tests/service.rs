//! `toolcrib service` with a stand-in for systemctl that notes what it is told: what is written, what is asked of systemd,
//! and that nothing changes where there is none.

#![expect(clippy::disallowed_methods, reason = "the test starts processes and writes files")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

const TOOLCRIB: &str = env!("CARGO_BIN_EXE_toolcrib");

/// Notes its words and says what the test wants; only words of the shell itself.
const STANDS_IN: &str = r#"#!/bin/sh
echo "$*" >> "$HOME/told"
if [ -e "$HOME/no-bus" ]; then echo "Failed to connect to bus" >&2; exit 1; fi
case "$2" in
  is-enabled) echo enabled ;;
  is-active) echo active ;;
  enable) if [ -e "$HOME/refuses" ]; then echo "Refused." >&2; exit 1; fi ;;
esac
"#;

struct Home {
    folder: TempDir,
}

impl Home {
    fn new(has_systemd: bool) -> Home {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        if has_systemd {
            let program = folder.path().join("bin/systemctl");
            fs::write(&program, STANDS_IN).unwrap();
            fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Home { folder }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn unit(&self) -> Option<String> {
        fs::read_to_string(self.at(".config/systemd/user/toolcrib.service")).ok()
    }

    /// What systemd was told since the last time, without the question whether it is there.
    fn told(&self) -> Vec<String> {
        let told = fs::read_to_string(self.at("told")).unwrap_or_default();
        let _ = fs::remove_file(self.at("told")); // It may not have been told anything.
        told.lines().filter(|line| !line.contains("--property=Version")).map(str::to_owned).collect()
    }

    /// Runs it: the exit code, and what it said.
    fn service(&self, words: &[&str]) -> (i32, String) {
        let mut command = Command::new(TOOLCRIB);
        command.arg("service").args(words).current_dir(self.folder.path()).env_clear();
        command.env("HOME", self.folder.path()).env("PATH", self.at("bin"));
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap(), String::from_utf8(said).unwrap())
    }
}

#[track_caller]
fn check((code, said): (i32, String), expected: i32, pieces: &[&str]) {
    assert_eq!(code, expected, "{said}");
    pieces.iter().for_each(|piece| assert!(said.contains(piece), "{piece} in {said}"));
}

#[test]
fn it_comes_and_goes() {
    let home = Home::new(true);
    check(home.service(&["status"]), 1, &["no service is installed"]);
    check(home.service(&["remove"]), 0, &["no service is installed"]);
    fs::write(home.at("own.toml"), "[log]\nlevel = \"warn\"\n").unwrap();
    check(home.service(&["install", "--dry-run"]), 0, &["ExecStart=:", "Restart=on-failure"]);
    assert_eq!((home.unit(), home.told()), (None, vec![]), "nothing is written only to show it");
    check(home.service(&["install", "--config", "own.toml"]), 0, &["enabled", "journalctl --user"]);
    let unit = home.unit().unwrap();
    let config = home.folder.path().canonicalize().unwrap().join("own.toml");
    let expected = format!("ExecStart=:\"{TOOLCRIB}\" serve --standalone --config \"{}\"", config.display());
    assert!(unit.contains(&expected), "{unit}");
    let reload = "--user daemon-reload";
    assert_eq!(home.told(), [reload, "--user enable toolcrib.service", "--user restart toolcrib.service"]);
    check(home.service(&["status"]), 0, &["enabled  enabled", "active   active", TOOLCRIB]);
    fs::write(home.at(".config/systemd/user/toolcrib.service"), unit.replace("/toolcrib\"", "/other\""))
        .unwrap();
    check(home.service(&["status"]), 0, &["another program than this one"]);
    check(home.service(&["status", "--json"]), 0, &["\"is_this_program\": false"]);
    home.told();
    check(home.service(&["remove"]), 0, &["is removed"]);
    assert_eq!(home.told(), ["--user disable --now toolcrib.service", reload]);
    assert_eq!(home.unit(), None);
}

#[test]
fn nothing_changes_where_it_cannot() {
    let without = Home::new(false);
    check(without.service(&["install"]), 1, &["there is no systemd here", "nothing was changed"]);
    assert!(!without.at(".config").exists());
    let home = Home::new(true);
    fs::write(home.at("no-bus"), "").unwrap();
    check(home.service(&["install"]), 1, &["systemd does not run for you here (Failed to connect to bus)"]);
    assert!(!home.at(".config").exists());
    fs::remove_file(home.at("no-bus")).unwrap();
    fs::write(home.at("bad.toml"), "[polcy]\n").unwrap();
    check(home.service(&["install", "--config", "bad.toml"]), 2, &["bad.toml:1:2", "polcy"]);
    assert!(!home.at(".config").exists());
    fs::write(home.at("refuses"), "").unwrap();
    check(home.service(&["install"]), 1, &["`systemctl --user enable toolcrib.service` failed: Refused."]);
    let theirs = "[Service]\nExecStart=/bin/true\n";
    fs::write(home.at(".config/systemd/user/toolcrib.service"), theirs).unwrap();
    check(home.service(&["install"]), 1, &["was not written by this command"]);
    check(home.service(&["remove"]), 1, &["was not written by this command"]);
    assert_eq!(home.unit().as_deref(), Some(theirs));
}

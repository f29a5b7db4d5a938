//! Confined programs: what they cannot do, how they end, and that none runs where a layer is missing.
//!
//! As root every test runs once more as an ordinary user: `ordinary_user` starts this program anew.

#![expect(clippy::disallowed_methods, reason = "looks at /proc and at what confined programs leave behind")]

mod aside;
mod bombs;
mod bwrap;
mod ends;
mod escapes;
mod faults;
mod guarded;
mod missing_layers;
mod ordinary_user;
mod pool;
mod runs;
mod servers;
mod template;
mod terminal;

use std::path::{Path, PathBuf};
use std::time::Duration;

use sandbox::Launcher;
use sandbox::confine::{Confined, Confiner, Outcome, Profile};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

/// A test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Names another `bwrap` than the system's.
const BWRAP: &str = "TOOLCRIB_TEST_BWRAP";

fn spawner() -> Launcher {
    let bwrap = std::env::var(BWRAP).ok().map(|bwrap| ["bwrap".to_owned(), bwrap]);
    let guard_args = bwrap.into_iter().flatten().collect();
    Launcher { guard: PathBuf::from(env!("CARGO_BIN_EXE_toolcrib-spawner")), guard_args }
}

/// One that does everything itself.
fn without_bwrap() -> Launcher {
    Launcher { guard_args: vec!["bwrap".to_owned(), "/nonexistent/bwrap".to_owned()], ..spawner() }
}

fn probe() -> Launcher {
    Launcher { guard_args: vec!["probe".to_owned()], ..spawner() }
}

/// A script for `sh` in this workspace.
fn shell(profile: Profile, workspace: &Path, script: &str) -> Confined {
    let args = vec!["-c".into(), script.into()];
    Confined { args, ..Confined::new(profile, "sh", workspace) }
}

/// What it printed, on stdout and stderr, and how it ended.
async fn run(confiner: &Confiner, program: &Confined) -> (String, Outcome) {
    let mut running = confiner.start(program).await.unwrap_or_else(|error| panic!("{error}"));
    let mut io = running.take_io().expect("not taken yet");
    drop(io.stdin);
    let (mut printed, mut errors) = (String::new(), String::new());
    let both =
        async { tokio::join!(io.stdout.read_to_string(&mut printed), io.stderr.read_to_string(&mut errors)) };
    let (stdout, stderr) = timeout(PATIENCE, both).await.expect("in time");
    stdout.and(stderr).expect("text");
    printed.push_str(&errors);
    (printed, timeout(PATIENCE, running.wait()).await.expect("in time"))
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().canonicalize().expect("there").join("work");
    std::fs::create_dir(&path).expect("a folder");
    (folder, path)
}

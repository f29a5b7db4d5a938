//! Every way in which a confined program ends, and that nothing is left of it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sandbox::Exit;
use sandbox::confine::{Confiner, Limit, Limits, Profile};
use tokio::io::AsyncReadExt;

use super::{PATIENCE, folder, shell, spawner};

/// How often each end is tried.
const ROUNDS: u32 = 30;

/// Within this nothing may be left.
const LEFT_MAX: Duration = Duration::from_secs(1);

/// Sleepers that ignore every polite signal: in the background, in a session of their own, orphaned by a double fork.
const STUBBORN: &str = r#"
stay='trap "" TERM HUP INT; while :; do sleep 1000.MARK; done'
sh -c "$stay" & setsid sh -c "$stay" &
(setsid sh -c "$stay" </dev/null >/dev/null 2>&1 &) &
while [ $(grep -lx sleep /proc/[0-9]*/comm 2>/dev/null | wc -l) -lt 3 ]; do :; done
echo up; sleep 1000.MARK
"#;

/// The living processes whose command line holds `mark`, inside or outside.
fn alive(mark: &str) -> usize {
    let lines = fs::read_dir("/proc").expect("proc").flatten();
    let lines = lines.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

fn nothing_is_left(mark: &str) {
    let start = Instant::now();
    while alive(mark) > 0 {
        assert!(start.elapsed() < LEFT_MAX, "{} processes are left after a second", alive(mark));
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn nothing_stands_in(work: &Path) {
    let names = || -> Vec<_> {
        fs::read_dir(work).expect("there").flatten().map(|entry| entry.file_name()).collect()
    };
    let start = Instant::now();
    while !names().is_empty() {
        assert!(start.elapsed() < LEFT_MAX, "{:?} still stand in for absent files", names());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn stubborn(mark: &str) -> String {
    STUBBORN.replace("MARK", mark)
}

/// Digits that no other test has.
fn mark(test: u32, round: u32) -> String {
    format!("{test}{:07}{round:03}", std::process::id())
}

async fn until_up(io: &mut sandbox::confine::RunningIo) {
    let mut up = [0; 3];
    tokio::time::timeout(PATIENCE, io.stdout.read_exact(&mut up)).await.expect("in time").expect("a line");
    assert_eq!(&up, b"up\n");
}

#[tokio::test]
async fn cancelled_nothing_survives() {
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    for round in 0..ROUNDS {
        let mark = mark(1, round);
        let mut running =
            confiner.start(&shell(Profile::write(), &work, &stubborn(&mark))).await.expect("started");
        let mut io = running.take_io().expect("not taken yet");
        until_up(&mut io).await;
        assert!(alive(&mark) >= 7);
        if round % 2 == 0 {
            running.end().await;
            assert_eq!(alive(&mark), 0, "all is over when the end is said");
        } else {
            drop((running, io));
            nothing_is_left(&mark);
        }
    }
    nothing_stands_in(&work);
}

#[tokio::test]
async fn out_of_time_nothing_survives() {
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    let limits = Limits { time: Duration::from_millis(300), ..Limits::default() };
    let profile = Profile { limits, ..Profile::write() };
    for round in 0..ROUNDS {
        let mark = mark(2, round);
        let mut running = confiner.start(&shell(profile, &work, &stubborn(&mark))).await.expect("started");
        let _io = running.take_io();
        let outcome = tokio::time::timeout(PATIENCE, running.wait()).await.expect("in time");
        assert_eq!((outcome.limit, alive(&mark)), (Some(Limit::Time), 0));
    }
}

/// The variable that makes this program a victim: what it is to run.
const VICTIM: &str = "TOOLCRIB_TEST_VICTIM";

/// Not a test by itself: what `killed_nothing_survives` starts and kills.
#[tokio::test]
async fn victim() {
    let Ok(script) = std::env::var(VICTIM) else { return };
    let work = std::env::var("TOOLCRIB_TEST_WORK").expect("a folder");
    let confiner = Confiner::new(spawner());
    println!("about to start");
    let mut running =
        confiner.start(&shell(Profile::write(), work.as_ref(), &script)).await.expect("started");
    running.wait().await;
}

#[test]
fn killed_nothing_survives() {
    let (_folder, work) = folder();
    for round in 0..ROUNDS {
        let mark = mark(3, round);
        let mut victim = Command::new(std::env::current_exe().expect("ours"));
        victim.args(["ends::victim", "--exact", "--nocapture", "--test-threads=1"]);
        victim.env(VICTIM, stubborn(&mark)).env("TOOLCRIB_TEST_WORK", &work);
        let mut victim = victim.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
        let mut lines = BufReader::new(victim.stdout.take().expect("piped")).lines();
        assert!(lines.any(|line| line.is_ok_and(|line| line.contains("about to start"))));
        // At another moment of its start each time, and then while it runs.
        std::thread::sleep(Duration::from_micros(u64::from(round) * 400));
        victim.kill().expect("killed");
        victim.wait().expect("ended");
        nothing_is_left(&mark);
    }
    nothing_stands_in(&work);
}

#[tokio::test]
async fn a_signal_to_its_group_ends_nobody_else() {
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    let neighbour =
        confiner.start(&shell(Profile::shell(), &work, "read line; exit 4")).await.expect("started");
    let (_, outcome) = super::run(&confiner, &shell(Profile::shell(), &work, "kill -KILL 0; exit 3")).await;
    assert_eq!(outcome.exit, Exit::Signal(9));
    let mut neighbour = neighbour;
    drop(neighbour.take_io());
    assert_eq!(neighbour.wait().await.exit, Exit::Code(4));
    super::run(&confiner, &shell(Profile::shell(), &work, "true")).await;
}

#[tokio::test]
async fn the_spawner_starts_with_the_first_program_and_ends_with_us() {
    let confiner = Confiner::new(spawner());
    assert_eq!(confiner.spawner(), None);
    let (_folder, work) = folder();
    super::run(&confiner, &shell(Profile::shell(), &work, "true")).await;
    let pid = confiner.spawner().expect("it runs");
    super::run(&confiner, &shell(Profile::shell(), &work, "true")).await;
    assert_eq!(confiner.spawner(), Some(pid));
    drop(confiner);
    let start = Instant::now();
    // Until somebody waits for it, it stays in the process table, with nothing in it.
    while fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty()) {
        assert!(start.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(5));
    }
}

//! Every system call on the way to a confined program fails in turn: there is an error with a name, or the program runs with
//! every layer, and nobody waits for ever. `strace` makes them fail, which takes minutes: `cargo xtask long sandbox`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sandbox::Launcher;
use sandbox::confine::{ConfineError, Confiner, Limits, Profile};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::{folder, shell, spawner};

/// What nobody waits longer for, though `strace` watches each call.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// As many at once as a small machine has processors.
const AT_ONCE: usize = 2;

/// A call is made to fail at most so often: the first of many equal ones tell all.
const TIMES_MAX: usize = 40;

/// Fewer would mean that the way was not seen.
const CALLS_MIN: usize = 50;

/// A spawner under the eyes of `strace`.
fn watched(words: &[&str]) -> Launcher {
    let Launcher { guard, .. } = spawner();
    let mut guard_args: Vec<String> =
        ["-f", "-qq"].iter().chain(words).map(|word| (*word).to_owned()).collect();
    guard_args.push(guard.to_str().expect("text").to_owned());
    Launcher { guard: PathBuf::from("strace"), guard_args }
}

/// So many starts one after the other come to one in a template.
const STARTS_TO_TEMPLATE: usize = 4;

/// How often each process on the way makes each call, at most.
fn calls(work: &Path, starts: usize) -> BTreeMap<String, usize> {
    let log = work.join("../log");
    let watched = watched(&["-o", log.to_str().expect("text")]);
    let said = start_all(&watched, work, Path::new("/nonexistent"), starts);
    assert_eq!(said, Ok(()), "without a fault");
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut over = Vec::new();
    for line in fs::read_to_string(&log).expect("a log").lines() {
        let Some((process, rest)) = line.split_once(' ') else { continue };
        let Some((call, arguments)) = rest.trim().split_once('(') else { continue };
        if over.contains(&process.to_owned()) || call.contains(' ') || call.starts_with('<') {
            continue;
        }
        *counts.entry((process.to_owned(), call.to_owned())).or_default() += 1;
        // From here on it is the program.
        if call == "execve" && arguments.contains("/sh\"") && arguments.ends_with("= 0") {
            over.push(process.to_owned());
        }
    }
    fs::remove_file(log).expect("removed");
    // A file is closed even where `close` says that it could not, which `strace` does not imitate.
    counts.retain(|(_, call), _| call != "close");
    let mut most: BTreeMap<String, usize> = BTreeMap::new();
    for ((_, call), count) in counts {
        let entry = most.entry(call).or_default();
        *entry = count.max(*entry).min(TIMES_MAX);
    }
    most
}

/// Has a program started so often by this launcher. What went wrong, as far as it must not.
fn start_all(launcher: &Launcher, work: &Path, outside: &Path, starts: usize) -> Result<(), String> {
    let confiner = Confiner::new(launcher.clone());
    // In the pool one would wait for the second.
    let confiner = if starts > 1 { confiner.without_pool() } else { confiner };
    (0..starts).try_for_each(|_| start(&confiner, work, outside))
}

fn start(confiner: &Confiner, work: &Path, outside: &Path) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let script = format!("echo out > {}; cat /proc/self/status", outside.display());
    let limits = Limits { time: Duration::from_secs(3), ..Limits::default() };
    let program = shell(Profile { limits, ..Profile::write() }, work, &script);
    let began = Instant::now();
    let said = runtime.block_on(async {
        let mut running = match confiner.start(&program).await {
            Ok(running) => running,
            Err(ConfineError::Unavailable(_) | ConfineError::NotRun { .. }) => return Ok(None),
            Err(error) => return Err(format!("not named: {error:?}")),
        };
        let mut io = running.take_io().expect("not taken yet");
        drop(io.stdin);
        let mut printed = String::new();
        let read = timeout(WAIT_MAX, io.stdout.read_to_string(&mut printed)).await;
        let ended = timeout(WAIT_MAX, running.wait()).await;
        if read.is_err() || ended.is_err() { Err("it never ended".to_owned()) } else { Ok(Some(printed)) }
    });
    if began.elapsed() > WAIT_MAX {
        return Err(format!("it took {:?}", began.elapsed()));
    }
    if outside.exists() {
        return Err("the program ran unconfined".to_owned());
    }
    let Some(printed) = said? else { return Ok(()) };
    // What it says of itself, if the fault has not kept it from that.
    for (name, expected) in [("CapEff:", "0000000000000000"), ("NoNewPrivs:", "1"), ("Seccomp:", "2")] {
        let found = printed.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        if found.is_some_and(|found| found != expected) {
            return Err(format!("{name} {found:?}"));
        }
    }
    Ok(())
}

#[test]
#[ignore = "takes minutes and needs strace: `cargo xtask long sandbox`"]
fn every_call_on_the_way_may_fail() {
    check(1);
}

#[test]
#[ignore = "takes minutes and needs strace: `cargo xtask long sandbox`"]
fn every_call_on_the_way_to_a_template_may_fail() {
    check(STARTS_TO_TEMPLATE);
}

fn check(starts: usize) {
    let (_folder, work) = folder();
    let calls = calls(&work, starts);
    assert!(calls.len() >= CALLS_MIN, "{calls:?}");
    assert_eq!(calls.contains_key("setns"), starts > 1, "only a template is entered");
    let faults: Vec<(&str, usize)> =
        calls.iter().flat_map(|(call, times)| (1..=*times).map(|nth| (&**call, nth))).collect();
    let next = AtomicUsize::new(0);
    let wrong = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(|| fail(&faults, &next, starts))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
    });
    assert!(wrong.is_empty(), "{} faults of {} calls: {wrong:#?}", faults.len(), calls.len());
}

/// Takes faults from the list until there are no more, and says which went wrong.
fn fail(faults: &[(&str, usize)], next: &AtomicUsize, starts: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    while let Some((call, nth)) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
        let (_folder, work) = folder();
        let fault = format!("inject={call}:error=EPERM:when={nth}");
        let launcher = watched(&["-o", "/dev/null", "-e", &fault]);
        if let Err(why) = start_all(&launcher, &work, &work.join("../outside"), starts) {
            wrong.push(format!("{call} {nth}: {why}"));
        }
        if is_left(&fault) {
            wrong.push(format!("{call} {nth}: its spawner is left"));
        }
    }
    wrong
}

/// Whether a spawner goes on under this fault though nobody asks it any more.
fn is_left(fault: &str) -> bool {
    let is_it = |line: Vec<u8>| line.split(|byte| *byte == 0).any(|word| word == fault.as_bytes());
    let runs = || {
        let lines = fs::read_dir("/proc").expect("proc").flatten();
        lines.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok()).any(is_it)
    };
    let start = Instant::now();
    while runs() {
        if start.elapsed() >= WAIT_MAX {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

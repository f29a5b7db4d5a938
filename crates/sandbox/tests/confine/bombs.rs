//! Programs that use up what there is: they end with the name of the limit, and whoever has started them goes on.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sandbox::Exit;
use sandbox::confine::{Confiner, Limit, Limits, Profile};

use super::{folder, run, shell, spawner};

/// What our own process may grow by while one goes on.
const GROWTH_MAX_BYTES: u64 = 32 << 20;

/// Our own tasks, which want a turn every millisecond, get one at least so often.
const TURN_MAX_MS: u64 = 100;

const TIGHT: Limits = Limits {
    time: Duration::from_secs(60),
    cpu: Duration::from_secs(1),
    processes: 20,
    memory_bytes: 64 << 20,
    file_bytes: 1 << 20,
    open_files: 16,
    scratch_bytes: 4 << 20,
    output_bytes: 100_000,
};

/// Each with the limit that is named, if one is.
const BOMBS: [(&str, Option<Limit>); 13] = [
    ("while :; do :; done", Some(Limit::Cpu)),
    // All memory at once, and a little by each of many.
    ("python3 -c 'a = bytearray(300 << 20); import time; time.sleep(30)'", Some(Limit::MemoryBytes)),
    (
        "for i in 1 2 3 4 5 6 7 8; do python3 -c 'a = bytearray(20 << 20); import time; time.sleep(2)' & done; wait; exit 1",
        Some(Limit::MemoryBytes),
    ),
    ("exec head -c 2000000 /dev/zero > big", Some(Limit::FileBytes)),
    ("exec yes", Some(Limit::OutputBytes)),
    ("exec yes >&2", Some(Limit::OutputBytes)),
    ("n=0; while [ $n -lt 40 ]; do sleep 50 & n=$((n+1)); done", Some(Limit::Processes)),
    (
        "python3 -c 'import threading as t, time\nwhile 1: t.Thread(target=time.sleep, args=[9], daemon=True).start()'",
        // Its threads are gone with it, so nobody can say what of.
        None,
    ),
    (
        "n=0; while head -c 1000000 /dev/zero > /tmp/$n; do n=$((n+1)); done; exit 1",
        Some(Limit::ScratchBytes),
    ),
    ("n=0; while head -c 1000000 /dev/zero > ~/$n; do n=$((n+1)); done; exit 1", Some(Limit::ScratchBytes)),
    // Many files without a byte in them.
    ("n=0; while : > /tmp/$n; do n=$((n+1)); done", Some(Limit::ScratchBytes)),
    // It tidies up before it fails, likewise.
    ("for n in 1 2 3 4 5; do head -c 1000000 /dev/zero > /tmp/$n || rm /tmp/*; done; exit 1", None),
    // Whatever fails for reasons of its own.
    ("exec 3<> /tmp/a 4<&3 5<&3; exit 1", None),
];

#[tokio::test]
async fn bombs_end_with_the_name_of_the_limit_and_whoever_starts_them_goes_on() {
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    // All that is ever touched is touched before it is measured.
    run(&confiner, &shell(Profile::write(), &work, "yes | head -c 90000")).await;
    let turns = Arc::new(AtomicU64::new(0));
    let task = tokio::spawn(count_turns(turns.clone()));
    for (bomb, limit) in BOMBS {
        let (memory, turned, start) = (resident(), turns.load(Ordering::Relaxed), Instant::now());
        let (printed, outcome) =
            run(&confiner, &shell(Profile { limits: TIGHT, ..Profile::write() }, &work, bomb)).await;
        assert_eq!(outcome.limit, limit, "{bomb}: {outcome:?} {printed:.200}");
        assert_ne!(outcome.exit, Exit::Code(0), "{bomb}");
        assert!(printed.len() <= 100_000 + 4096, "{bomb}: {}", printed.len());
        assert!(resident().saturating_sub(memory) < GROWTH_MAX_BYTES, "{bomb}: {memory} to {}", resident());
        let (turns, wanted) =
            (turns.load(Ordering::Relaxed) - turned, start.elapsed().as_millis() as u64 / TURN_MAX_MS);
        assert!(turns >= wanted, "{bomb}: {turns} turns instead of {wanted}");
        let (printed, _) = run(&confiner, &shell(Profile::shell(), &work, "echo hello")).await;
        assert_eq!(printed, "hello\n", "after {bomb}");
        for entry in fs::read_dir(&work).expect("there").flatten() {
            fs::remove_file(entry.path()).expect("a file of the bomb");
        }
    }
    task.abort();
}

#[tokio::test]
async fn a_limit_of_time_ends_what_does_not_want_to_end() {
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    let limits = Limits { time: Duration::from_millis(500), ..TIGHT };
    let program = shell(Profile { limits, ..Profile::write() }, &work, "trap '' TERM; sleep 100");
    assert_eq!(run(&confiner, &program).await.1.limit, Some(Limit::Time));
}

/// What our own event loop does besides.
async fn count_turns(turns: Arc<AtomicU64>) {
    loop {
        tokio::time::sleep(Duration::from_millis(1)).await;
        turns.fetch_add(1, Ordering::Relaxed);
    }
}

fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").expect("proc");
    let pages: u64 = statm.split(' ').nth(1).expect("a number").parse().expect("a number");
    pages * rustix::param::page_size() as u64
}

//! What a confined start costs: medians of starts of `true` until their end is known, by turns with bare ones of the same
//! program. `cargo bench -p sandbox` as it is, or under `chrt -f 10` where other things run.

#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "measures and says so")]

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sandbox::Launcher;
use sandbox::confine::{Confined, Confiner, Profile};

/// Starts of each kind, unless the first argument says otherwise.
const STARTS: usize = 330;

/// Those before them, in which everything is read into memory.
const WARM_UP: usize = 20;

fn main() {
    let starts = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(STARTS);
    let spawner =
        Launcher { guard: PathBuf::from(env!("CARGO_BIN_EXE_toolcrib-spawner")), guard_args: Vec::new() };
    let confiner = Confiner::new(spawner);
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let profiles = [("shell", Profile::shell()), ("write", Profile::write()), ("worker", Profile::worker())];
    let mut bare = Vec::new();
    let mut confined = profiles.map(|_| Vec::new());
    for turn in 0..starts + WARM_UP {
        let is_counted = turn >= WARM_UP;
        let start = Instant::now();
        // Without anything to do before the program this is `posix_spawn`.
        let mut command = Command::new("/usr/bin/true");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().expect("run");
        bare.extend(is_counted.then(|| start.elapsed()));
        for ((_, profile), times) in profiles.iter().zip(&mut confined) {
            let program = Confined::new(*profile, "/usr/bin/true", folder.path());
            let start = Instant::now();
            runtime.block_on(async { confiner.start(&program).await.expect("started").wait().await });
            times.extend(is_counted.then(|| start.elapsed()));
        }
    }
    let bare = median(bare);
    println!("bare {bare:?}");
    for ((name, _), times) in profiles.iter().zip(confined) {
        let median = median(times);
        println!("{name} {median:?}: {:.2}", median.as_secs_f64() / bare.as_secs_f64());
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

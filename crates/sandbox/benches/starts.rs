//! What a confined start costs: medians of starts of `true` until their end is known, by turns with bare ones of the same
//! program. `cargo bench -p sandbox`, or what that builds under `chrt -f 10` where other things run. Arguments: how many
//! starts; spawners of other builds, to be measured by turns with this one.

#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "measures and says so")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sandbox::Launcher;
use sandbox::confine::{Confined, Confiner, Profile};
use tokio::runtime::{Builder, Runtime};

/// Starts of each kind, unless an argument says otherwise.
const STARTS: usize = 330;

/// Those before them, in which everything is read into memory.
const WARM_UP: usize = 20;

/// Something that is measured.
struct Case {
    name: String,
    /// Nothing for a bare start.
    confined: Option<Kind>,
    times: Vec<Duration>,
}

struct Kind {
    confiner: Confiner,
    profile: Profile,
    /// Whether each start finds a sandbox in the pool.
    is_pooled: bool,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let starts = words.iter().find_map(|word| word.parse().ok()).unwrap_or(STARTS);
    let others = words.iter().filter(|word| word.contains('/')).map(PathBuf::from);
    let mut cases = vec![Case { name: "bare".to_owned(), confined: None, times: Vec::new() }];
    for spawner in std::iter::once(env!("CARGO_BIN_EXE_toolcrib-spawner").into()).chain(others) {
        let kinds = [Profile::shell(), Profile::write(), Profile::worker()].map(|profile| (profile, false));
        let pooled = [Profile::shell(), Profile::worker()].map(|profile| (profile, true));
        cases.extend(kinds.into_iter().chain(pooled).map(|kind| case(&spawner, kind)));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let turns = starts + WARM_UP;
    for turn in 0..turns {
        // What a start leaves to the kernel to tidy up burdens the next, so each comes after each.
        cases.rotate_left(1);
        for case in &mut cases {
            if let Some(kind) = case.confined.as_ref().filter(|kind| kind.is_pooled) {
                runtime.block_on(kind.confiner.fill()).expect("a spawner");
            }
            let start = Instant::now();
            run(case, folder.path(), &runtime);
            case.times.extend((turn >= WARM_UP).then(|| start.elapsed()));
        }
    }
    let turned = turns % cases.len();
    cases.rotate_right(turned);
    let mut bare = None;
    for Case { name, times, .. } in cases {
        let median = median(times);
        let ratio = median.as_secs_f64() / bare.get_or_insert(median).as_secs_f64();
        println!("{ratio:5.2} {:6} µs  {name}", median.as_micros());
    }
}

fn case(spawner: &Path, (profile, is_pooled): (Profile, bool)) -> Case {
    let launcher = Launcher { guard: spawner.to_owned(), guard_args: Vec::new() };
    let confiner = if is_pooled { Confiner::new(launcher) } else { Confiner::new(launcher).without_pool() };
    let how = if is_pooled { " from the pool" } else { "" };
    let name = format!("{}{how} {}", profile.name, spawner.display());
    Case { name, confined: Some(Kind { confiner, profile, is_pooled }), times: Vec::new() }
}

fn run(case: &Case, folder: &Path, runtime: &Runtime) {
    let Some(Kind { confiner, profile, is_pooled }) = &case.confined else {
        // With nothing to do before the program this is `posix_spawn`.
        let mut command = Command::new("/usr/bin/true");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().expect("run");
        return;
    };
    let program = Confined::new(*profile, "/usr/bin/true", folder);
    runtime.block_on(async {
        let mut running = confiner.start(&program).await.expect("started");
        assert_eq!(running.is_from_pool(), *is_pooled);
        running.wait().await
    });
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

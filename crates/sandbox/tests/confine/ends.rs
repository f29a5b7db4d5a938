//! Every way in which a confined program ends, and that nothing is left of it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sandbox::Exit;
use sandbox::confine::{Confiner, Limit, Limits, Profile};
use tokio::io::AsyncReadExt;

use super::missing_layers::{SYSCTLS, after, said};
use super::{PATIENCE, folder, shell, spawner};

/// How often each end is tried. `cargo xtask long` says more.
const ROUNDS: u32 = 30;
const ROUNDS_VARIABLE: &str = "TOOLCRIB_TEST_ROUNDS";

/// Within this nothing may be left.
const LEFT_MAX: Duration = Duration::from_secs(1);

/// A round is ended at some moment within this from its start: while its processes become more, and after that.
const MOMENT_MAX: Duration = Duration::from_millis(1500);

/// A thousand processes that ignore every polite signal, orphaned by a double fork, and one in a session of its own. They are
/// all copies of a shell, which cost little.
const STUBBORN: &str = r#"
: MARK
trap "" TERM HUP INT QUIT PIPE
mkfifo /tmp/never; exec 3<> /tmp/never
setsid sh -c 'read line <&3; : MARK' &
n=0; while [ $n -lt 1000 ]; do ( (read line <&3) & ); n=$((n+1)); done
echo up; read line <&3
"#;

/// As many as these and ours.
const PROCESSES_MAX: u64 = 1100;

fn rounds() -> u32 {
    std::env::var(ROUNDS_VARIABLE).ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS)
}

/// Another moment each time, spread over all there are.
fn moment(round: u32) -> Duration {
    MOMENT_MAX * (round * 7 % 31) / 31
}

/// The processes whose command line holds `mark`, inside or outside.
fn alive(mark: &str) -> usize {
    let lines = fs::read_dir("/proc").expect("proc").flatten();
    let lines = lines.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

fn nothing_is_left(mark: &str) {
    until(&|| alive(mark) == 0, &|| format!("{} processes are left", alive(mark)));
}

fn nothing_stands_in(work: &Path) {
    let names = |folder: &Path| -> Vec<_> {
        fs::read_dir(folder).expect("there").flatten().map(|entry| entry.file_name()).collect()
    };
    until(&|| names(work).is_empty(), &|| format!("{:?} stand in for absent files", names(work)));
    let above = work.parent().expect("a folder");
    assert_eq!(names(above), ["work"], "nothing is made beside the workspace");
    let mounts = fs::read_to_string("/proc/self/mounts").expect("proc");
    assert!(!mounts.contains(above.to_str().expect("text")), "{mounts}");
    until(&|| groups_of_nobody().is_empty(), &|| format!("{:?} are left", groups_of_nobody()));
}

/// Control groups of spawners that are gone.
fn groups_of_nobody() -> Vec<String> {
    let ours = fs::read_to_string("/proc/self/cgroup").expect("proc");
    let paths = ours.lines().filter_map(|line| line.split_once("memory:").or(line.split_once("0::")));
    let above = paths.flat_map(|(_, path)| {
        ["memory/", ""].map(|kind| format!("/sys/fs/cgroup/{kind}{}", path.trim_start_matches('/')))
    });
    let names = above.filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let is_nobodys = |name: &String| {
        let pid = name.strip_prefix("toolcrib-").and_then(|name| name.split('-').next());
        pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists())
    };
    names.filter(is_nobodys).collect()
}

fn until(is_so: &dyn Fn() -> bool, what: &dyn Fn() -> String) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LEFT_MAX, "a second after the end {}", what());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn stubborn(mark: &str) -> String {
    STUBBORN.replace("MARK", mark)
}

/// Every third round finds a sandbox in the pool, whatever happened before; so each kind of end has such rounds.
async fn fill(confiner: &Confiner, round: u32) {
    if round.is_multiple_of(3) {
        confiner.fill().await.expect("a spawner");
    }
}

/// Digits that no other test has.
fn mark(test: u32, round: u32) -> String {
    format!("{test}{:07}{round:03}", std::process::id())
}

fn many(time: Duration) -> Profile {
    let limits = Limits { time, processes: PROCESSES_MAX, ..Limits::default() };
    Profile { limits, ..Profile::write() }
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
    for round in 0..rounds() {
        let mark = mark(1, round);
        fill(&confiner, round).await;
        let program = shell(many(Duration::from_secs(60)), &work, &stubborn(&mark));
        let mut running = confiner.start(&program).await.expect("started");
        let mut io = running.take_io().expect("not taken yet");
        if round == 0 {
            until_up(&mut io).await;
            assert!(alive(&mark) > 1000);
        } else {
            tokio::time::sleep(moment(round)).await;
        }
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
    for round in 0..rounds() {
        let mark = mark(2, round);
        fill(&confiner, round).await;
        let program = shell(many(moment(round)), &work, &stubborn(&mark));
        let mut running = confiner.start(&program).await.expect("started");
        let _io = running.take_io();
        let outcome = tokio::time::timeout(PATIENCE, running.wait()).await.expect("in time");
        assert_eq!((outcome.limit, alive(&mark)), (Some(Limit::Time), 0));
    }
    nothing_stands_in(&work);
}

/// The variable that makes this program a victim: what it is to run.
const VICTIM: &str = "TOOLCRIB_TEST_VICTIM";

/// Not a test by itself: what `killed_nothing_survives` starts and kills.
#[tokio::test]
async fn victim() {
    let Ok(script) = std::env::var(VICTIM) else { return };
    let work = std::env::var("TOOLCRIB_TEST_WORK").expect("a folder");
    let confiner = Confiner::new(spawner());
    fill(&confiner, std::env::var("TOOLCRIB_TEST_ROUND").expect("a number").parse().expect("a number")).await;
    println!("about to start");
    let program = shell(many(Duration::from_secs(60)), work.as_ref(), &script);
    let mut running = confiner.start(&program).await.expect("started");
    running.wait().await;
}

#[test]
fn killed_nothing_survives() {
    let (_folder, work) = folder();
    for round in 0..rounds() {
        let mark = mark(3, round);
        let mut victim = Command::new(std::env::current_exe().expect("ours"));
        victim.args(["ends::victim", "--exact", "--nocapture", "--test-threads=1"]);
        victim.env(VICTIM, stubborn(&mark)).env("TOOLCRIB_TEST_WORK", &work);
        victim.env("TOOLCRIB_TEST_ROUND", round.to_string());
        let mut victim = victim.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
        let mut lines = BufReader::new(victim.stdout.take().expect("piped")).lines();
        assert!(lines.any(|line| line.is_ok_and(|line| line.contains("about to start"))));
        // Half of them within the first milliseconds, while it is started, the others while it runs.
        let moment =
            if round % 2 == 0 { Duration::from_micros(u64::from(round) * 400) } else { moment(round) };
        std::thread::sleep(moment);
        victim.kill().expect("killed");
        victim.wait().expect("ended");
        nothing_is_left(&mark);
    }
    nothing_stands_in(&work);
}

/// So many namespaces of each kind may be there at once where this many programs run one after another. The kernel takes
/// networks away a little later.
const NAMESPACES_MAX: u32 = 64;
const PROGRAMS: u32 = 200;

/// The variable that makes this program one that runs many.
const MANY: &str = "TOOLCRIB_TEST_MANY";

/// Not a test by itself: what `no_namespace_is_left` runs.
#[tokio::test]
async fn many_one_after_another() {
    if std::env::var_os(MANY).is_none() {
        return;
    }
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    let program = shell(Profile::shell(), &work, "true");
    for round in 0..PROGRAMS {
        match confiner.start(&program).await {
            Ok(running) if round % 2 == 0 => drop(running),
            Ok(mut running) => {
                running.wait().await;
            }
            Err(error) => return println!("said: {error} after {round};"),
        }
    }
    println!("said: nothing is left;");
}

#[test]
fn no_namespace_is_left() {
    // In a user namespace root's `bwrap` is nobody's.
    if super::bwrap::is_blocked() {
        return;
    }
    let limits: Vec<_> = SYSCTLS
        .iter()
        .map(|(sysctl, _)| format!("echo {NAMESPACES_MAX} > /proc/sys/user/{sysctl}"))
        .collect();
    let mut command = after("ends::many_one_after_another", &limits.join(" && "));
    assert_eq!(said(command.env(MANY, "")), "nothing is left");
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

#[tokio::test]
async fn a_start_that_nobody_waits_for_any_more_starts_nothing() {
    let confiner = Confiner::new(spawner()).without_pool();
    let (_folder, work) = folder();
    let program = |script: &str| shell(Profile::write(), &work, script);
    super::run(&confiner, &program("true")).await;
    let pid = confiner.spawner().and_then(|pid| Pid::from_raw(pid.try_into().ok()?)).expect("it runs");
    kill_process(pid, Signal::STOP).expect("stopped");
    confiner.start(&program("echo x > file")).await.expect_err("nobody answers");
    kill_process(pid, Signal::CONT).expect("it goes on");
    // By its turn the one before has had its own.
    super::run(&confiner, &program("true")).await;
    let pid = pid.as_raw_pid();
    let children = || fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    until(&|| children().is_empty(), &children);
    assert!(!work.join("file").exists());
}

//! Sandboxes from the pool: as good as new ones, never used again, and none is left.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sandbox::confine::{Confined, Confiner, Limits, Profile};
use tokio::io::AsyncReadExt;

use super::{PATIENCE, folder, shell, spawner};

/// What a script prints in a sandbox that must be, or must not be, from the pool.
async fn check(confiner: &Confiner, program: &Confined, is_from_pool: bool) -> String {
    let mut running = confiner.start(program).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(running.is_from_pool(), is_from_pool, "{:?}", program.args);
    let mut io = running.take_io().expect("not taken yet");
    let mut printed = String::new();
    io.stdout.read_to_string(&mut printed).await.expect("text");
    running.wait().await;
    printed
}

#[tokio::test]
async fn what_a_program_gets_is_the_same_from_the_pool() {
    let scratch =
        |scratch_bytes, profile| Profile { limits: Limits { scratch_bytes, ..Limits::default() }, ..profile };
    let small = scratch(1 << 20, Profile::write());
    let script = "pwd; id; hostname; env | sort; stat -c '%n %A %u %g' /* /dev/* /etc/* /home/* /tmp; cat /etc/nsswitch.conf; df -k /tmp ~ | tail -n 2; \
                  grep -E '^(Cap|NoNew|Seccomp)' /proc/self/status; echo x > /tmp/a; echo x > ~/b; echo x 2>&1 > file; \
                  cut -d' ' -f4-6 /proc/self/mountinfo | sort; cat /proc/sys/user/max_user_namespaces; ulimit -a";
    for profile in [Profile::shell(), Profile::write(), Profile::net(), Profile::worker(), small] {
        let (_folder, work) = folder();
        let program = shell(profile, &work, script);
        let (anew, pooling) = (Confiner::new(spawner()).without_pool(), Confiner::new(spawner()));
        let expected = check(&anew, &program, false).await;
        assert!(expected.contains("CapEff"), "{expected}");
        for _ in 0..2 {
            pooling.fill().await.expect("a spawner");
            assert_eq!(check(&pooling, &program, true).await, expected, "{}", profile.name);
        }
    }
}

#[tokio::test]
async fn each_is_for_one_program() {
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    let program = shell(
        Profile::shell(),
        &work,
        "readlink /proc/self/ns/pid; ls /tmp ~; echo x > /tmp/a; echo x > ~/b",
    );
    confiner.fill().await.expect("a spawner");
    let mut seen = Vec::new();
    for _ in 0..2 {
        let printed = check(&confiner, &program, true).await;
        assert!(!printed.contains("a\n") && !seen.contains(&printed), "{printed}");
        seen.push(printed);
    }
}

#[tokio::test]
async fn who_wants_no_pool_has_none() {
    let confiner = Confiner::new(spawner()).without_pool();
    let (_folder, work) = folder();
    confiner.fill().await.expect("a spawner");
    check(&confiner, &shell(Profile::shell(), &work, "true"), false).await;
    // A server's home stays: it is started seldom.
    let home = work.join("home");
    fs::create_dir(&home).expect("a folder");
    let confiner = Confiner::new(spawner());
    confiner.fill().await.expect("a spawner");
    let server = Confined { home: Some(home), ..shell(Profile::upstream(), &work, "true") };
    check(&confiner, &server, false).await;
}

#[tokio::test]
async fn after_a_start_the_pool_is_filled() {
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    let program = shell(Profile::shell(), &work, "true");
    check(&confiner, &program, false).await;
    let waiting = || inits(confiner.spawner().expect("it runs"));
    until(|| waiting().len() == 2);
    // They are there; now they are ready, too.
    confiner.fill().await.expect("a spawner");
    check(&confiner, &program, true).await;
    until(|| waiting().len() == 2);
}

#[tokio::test]
async fn none_outlives_the_spawner_or_us() {
    for is_killed in [true, false] {
        let confiner = Confiner::new(spawner());
        confiner.fill().await.expect("a spawner");
        let spawner = confiner.spawner().expect("it runs");
        let waiting = inits(spawner);
        assert_eq!(waiting.len(), 2);
        if is_killed {
            let pid = Pid::from_raw(spawner.try_into().expect("a number")).expect("not zero");
            kill_process(pid, Signal::KILL).expect("killed");
        } else {
            drop(confiner);
        }
        until(|| waiting.iter().all(|pid| !is_alive(*pid)));
    }
}

/// A process's children that are the first in a namespace of processes.
fn inits(parent: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
    children.split_whitespace().filter_map(|pid| pid.parse().ok()).filter(|pid| is_alive(*pid)).collect()
}

/// Who has ended may stay in the process table until somebody waits for it.
fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}

fn until(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What makes this program one that mounts something.
const MOUNTS: &str = "TOOLCRIB_TEST_MOUNTS";

/// Not a test by itself: a program whose machine gets a mount after its pool was filled.
#[tokio::test]
async fn mounting() {
    if std::env::var_os(MOUNTS).is_none() {
        return;
    }
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    confiner.fill().await.expect("a spawner");
    let status = Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(&work).status().expect("mount");
    assert!(status.success());
    fs::write(work.join("file"), "mounted\n").expect("a file");
    println!("said: {};", check(&confiner, &shell(Profile::shell(), &work, "cat file"), false).await.trim());
}

#[test]
fn what_was_mounted_since_is_seen() {
    let mut command = Command::new("unshare");
    if rustix::process::getuid().is_root() {
        command.arg("--mount");
    } else {
        command.args(["--user", "--map-user=4343", "--map-group=4343", "--keep-caps", "--mount"]);
    }
    command.arg(std::env::current_exe().expect("ours"));
    command.args(["pool::mounting", "--exact", "--nocapture", "--test-threads=1"]);
    let output = command.env(MOUNTS, "").output().expect("run");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("said: mounted;"), "{output:?}");
}

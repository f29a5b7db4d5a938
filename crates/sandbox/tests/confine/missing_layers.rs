//! Where a layer is missing nothing runs, and the layer is named.

use std::process::Command;

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};
use sandbox::confine::{ConfineError, Confiner, Layer, Profile, Unavailable};
use seccompiler::SeccompCmpOp::{self, Eq, MaskedEq, Ne};
use seccompiler::{SeccompAction, SeccompCmpArgLen, SeccompCondition, SeccompFilter, SeccompRule};

use tokio::time::timeout;

use super::{PATIENCE, folder, run, shell, spawner, without_bwrap};

/// Which call this process is to do without.
const DENIED: &str = "TOOLCRIB_TEST_DENIED";

/// Whether its pool is filled before, as far as it can be.
const FILLED: &str = "TOOLCRIB_TEST_FILLED";

/// Which calls of a kind are refused: those with this argument, or all.
type Only = Option<(u8, SeccompCmpOp, u64)>;

/// What marks a folder that stands in for an absent one, among the bits of its mode.
const MARK: u64 = libc::S_ISVTX as u64;

/// Calls that an outer filter refuses, and the layer that is then missing.
const CASES: [(&str, i64, Only, &str); 19] = [
    ("clone3", libc::SYS_clone3, None, "user_namespace"),
    ("mount_setattr", libc::SYS_mount_setattr, None, "root"),
    ("open_tree", libc::SYS_open_tree, None, "root"),
    ("move_mount", libc::SYS_move_mount, None, "root"),
    ("fsopen", libc::SYS_fsopen, None, "root"),
    ("pivot_root", libc::SYS_pivot_root, None, "root"),
    ("mount", libc::SYS_mount, None, "mount_namespace"),
    ("sethostname", libc::SYS_sethostname, None, "uts_namespace"),
    // Sockets of netlink, and no others that a start makes.
    ("netlink", libc::SYS_socket, Some((0, Eq, libc::AF_NETLINK as u64)), "loopback"),
    ("setgroups", libc::SYS_setgroups, None, "run_user"),
    ("capset", libc::SYS_capset, None, "capabilities"),
    ("no_new_privs", libc::SYS_prctl, Some((0, Eq, libc::PR_SET_NO_NEW_PRIVS as u64)), "no_new_privileges"),
    // Those that change a limit.
    ("prlimit", libc::SYS_prlimit64, Some((2, Ne, 0)), "rlimits"),
    ("listen", libc::SYS_listen, None, "proxy"),
    ("mkdirat", libc::SYS_mkdirat, Some((2, MaskedEq(MARK), MARK)), "protected_paths"),
    // Of one byte, as into a control group, and as what forbids namespaces.
    ("write", libc::SYS_write, Some((2, Eq, 1)), "nested_namespaces"),
    ("close_range", libc::SYS_close_range, None, "descriptors"),
    ("landlock", libc::SYS_landlock_restrict_self, None, "landlock"),
    ("seccomp", libc::SYS_seccomp, None, "seccomp"),
];

/// Not a test by itself: a program that does without a call and has another one run confined.
#[test]
fn denied() {
    let Ok(denied) = std::env::var(DENIED) else { return };
    let waived: Vec<Layer> =
        std::env::var("TOOLCRIB_TEST_WAIVED").ok().and_then(|name| Layer::named(&name)).into_iter().collect();
    if let Some((_, call, only, _)) = CASES.iter().find(|(name, ..)| *name == denied) {
        let only = only.clone().map(|(argument, op, value)| {
            let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Qword, op, value);
            SeccompRule::new(vec![condition.expect("a condition")]).expect("a rule")
        });
        let rules = only.into_iter().collect();
        // Without `clone3` the C library makes threads in the older way.
        let errno = if denied == "clone3" { libc::ENOSYS } else { libc::EPERM };
        let refused = SeccompAction::Errno(errno as u32);
        let processor = std::env::consts::ARCH.try_into().expect("known");
        let filter = SeccompFilter::new([(*call, rules)].into(), SeccompAction::Allow, refused, processor);
        let program: seccompiler::BpfProgram = filter.expect("a filter").try_into().expect("a program");
        seccompiler::apply_filter_all_threads(&program)
            .or_else(|_| seccompiler::apply_filter(&program))
            .expect("applied");
    }
    let (_folder, work) = folder();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    // What it takes to need the layer.
    let profile = match &*denied {
        "listen" => Profile::net(),
        "mkdirat" => Profile::write(),
        _ => Profile::shell(),
    };
    let program = sandbox::confine::Confined {
        waived,
        ..shell(profile, &work, "echo it ran > /proc/self/comm; echo it ran")
    };
    let said = runtime.block_on(async {
        let confiner = Confiner::new(without_bwrap());
        if std::env::var_os(FILLED).is_some() {
            confiner.fill().await.expect("a spawner");
        }
        match confiner.start(&program).await {
            Ok(first) => {
                // What is missing once is known the next time, and said again.
                let second = confiner.start(&program).await.expect("started");
                assert_eq!(first.without(), second.without());
                format!("it ran without {:?}", first.without())
            }
            Err(ConfineError::Unavailable(Unavailable { layer, .. })) => format!("missing {}", layer.name()),
            Err(error) => error.to_string(),
        }
    });
    println!("said: {said};");
}

/// What a process says that does without `denied`, the same whether or not its pool was filled.
fn without(denied: &str, waived: &str) -> String {
    let mut command = Command::new(std::env::current_exe().expect("ours"));
    command.args(["missing_layers::denied", "--exact", "--nocapture", "--test-threads=1"]);
    let anew = said(command.env(DENIED, denied).env("TOOLCRIB_TEST_WAIVED", waived));
    assert_eq!(said(command.env(FILLED, "")), anew, "from a pool, without {denied}");
    anew
}

pub(super) fn said(command: &mut Command) -> String {
    let output = command.output().expect("run");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = printed.split("said: ").nth(1).and_then(|said| said.split(';').next());
    said.map_or_else(|| format!("{output:?}"), str::to_owned)
}

#[test]
fn a_program_does_not_run_where_a_layer_is_missing() {
    assert_eq!(without("nothing", ""), "it ran without []");
    let is_root = rustix::process::getuid().is_root();
    // Others than root stay who they are.
    for (denied, _, _, layer) in CASES.into_iter().filter(|(.., layer)| is_root || *layer != "run_user") {
        // As root the folder is mounted first, with mapped owners.
        let layer = match denied {
            "mount_setattr" | "open_tree" if is_root => "idmap",
            // And it joins its control group.
            "write" if is_root => "memory",
            _ => layer,
        };
        assert_eq!(without(denied, ""), format!("missing {layer}"), "without {denied}");
    }
}

#[test]
fn an_operator_may_do_without_some_layers_by_name() {
    assert_eq!(without("landlock", "landlock"), "it ran without [Landlock]");
    assert_eq!(without("sethostname", "uts_namespace"), "it ran without [UtsNamespace]");
    // Not without these, whatever is said.
    assert_eq!(without("seccomp", "seccomp"), "missing seccomp");
    assert_eq!(without("landlock", "seccomp"), "missing landlock");
}

#[tokio::test]
async fn a_killed_spawner_is_said_and_replaced() {
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    let program = shell(Profile::shell(), &work, "echo hello");
    assert_eq!(run(&confiner, &program).await.0, "hello\n");
    let pid = confiner.spawner().expect("it runs");
    let pid = Pid::from_raw(pid.try_into().expect("a number")).expect("not zero");
    kill_process(pid, Signal::KILL).expect("killed");
    // Its socket closes when it is gone.
    rustix::process::waitid(
        rustix::process::WaitId::Pid(pid),
        rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT,
    )
    .expect("ended");
    match confiner.start(&program).await {
        Err(ConfineError::Unavailable(missing)) => assert_eq!(missing.layer, Layer::Spawner),
        other => panic!("{other:?}"),
    }
    assert_eq!(run(&confiner, &program).await.0, "hello\n");
}

/// Open files that a spawner has at least, and more than it has in a start.
const SPAWNERS_FILES: std::ops::Range<u64> = 5..50;

#[tokio::test]
async fn a_spawner_without_room_for_open_files_refuses_that_start_and_goes_on() {
    let (_folder, work) = folder();
    // With what is sent to it for a start.
    for (profile, sent) in [(Profile::shell(), 7), (Profile::net(), 8)] {
        let confiner = Confiner::new(spawner()).without_pool();
        let program = shell(profile, &work, "echo hello");
        assert_eq!(run(&confiner, &program).await.0, "hello\n");
        let number = confiner.spawner().expect("it runs");
        let pid = Pid::from_raw(number.try_into().expect("a number"));
        let usual = prlimit(pid, Resource::Nofile, getrlimit(Resource::Nofile)).expect("ours");
        let mut said = Vec::new();
        for most in SPAWNERS_FILES {
            prlimit(pid, Resource::Nofile, Rlimit { current: Some(most), ..usual }).expect("ours");
            said.push(match confiner.start(&program).await {
                Ok(running) => {
                    timeout(PATIENCE, running.end()).await.expect("in time");
                    "it ran".to_owned()
                }
                Err(ConfineError::Unavailable(Unavailable { why, .. })) => why,
                Err(error) => panic!("with {most}: {error:?}"),
            });
            prlimit(pid, Resource::Nofile, usual).expect("ours");
            assert_eq!(run(&confiner, &program).await.0, "hello\n", "after {most}");
            assert_eq!(confiner.spawner(), Some(number), "after {most}");
        }
        // What is cut off starts nothing.
        let is_cut = |said: &String| said.ends_with("it ended without an answer");
        assert!(said.iter().take(sent).all(is_cut), "{said:#?}");
        assert_eq!(said.last().expect("some"), "it ran");
    }
}

/// Limits of a user namespace, and the layer that is missing where one is zero.
pub(super) const SYSCTLS: [(&str, &str); 7] = [
    ("max_user_namespaces", "user_namespace"),
    ("max_pid_namespaces", "pid_namespace"),
    ("max_mnt_namespaces", "mount_namespace"),
    ("max_net_namespaces", "network_namespace"),
    ("max_ipc_namespaces", "ipc_namespace"),
    ("max_uts_namespaces", "uts_namespace"),
    ("max_cgroup_namespaces", "cgroup_namespace"),
];

/// What an ordinary user's process says in a user namespace of its own, after `script` has run there.
fn in_a_namespace(script: &str, waived: &str) -> String {
    let mut command = after("missing_layers::denied", script);
    let anew = said(command.env(DENIED, "nothing").env("TOOLCRIB_TEST_WAIVED", waived));
    assert_eq!(said(command.env(FILLED, "")), anew, "from a pool, after {script}");
    anew
}

/// This program with one of its tests, as an ordinary user in a user namespace of its own, after `script` has run there.
pub(super) fn after(test: &str, script: &str) -> Command {
    let script = format!("{script} && exec \"$0\" {test} --exact --nocapture --test-threads=1");
    let mut command = Command::new("unshare");
    // It keeps what it may do there, but is not root.
    command.args(["--user", "--map-user=4343", "--map-group=4343", "--keep-caps", "sh", "-c", &script]);
    command.arg(std::env::current_exe().expect("ours")).env("TMPDIR", "/tmp");
    command
}

#[test]
fn a_program_does_not_run_where_the_machine_lets_nobody_make_a_namespace() {
    assert_eq!(in_a_namespace("true", ""), "it ran without []");
    for (sysctl, layer) in SYSCTLS {
        let forbid = format!("echo 0 > /proc/sys/user/{sysctl}");
        assert_eq!(in_a_namespace(&forbid, ""), format!("missing {layer}"), "{sysctl}");
    }
    let forbid = "echo 0 > /proc/sys/user/max_net_namespaces";
    assert_eq!(in_a_namespace(forbid, "network_namespace"), "it ran without [NetworkNamespace]");
    let forbid = "echo 0 > /proc/sys/user/max_user_namespaces";
    assert_eq!(in_a_namespace(forbid, "user_namespace"), "missing user_namespace");
}

/// Not a test by itself: a program whose control groups cannot be written any more after the first start.
#[tokio::test]
async fn read_only() {
    if std::env::var(DENIED).as_deref() != Ok("groups") {
        return;
    }
    // What waits in a pool has its groups open.
    let confiner = Confiner::new(spawner()).without_pool();
    let (_folder, work) = folder();
    let program = shell(Profile::shell(), &work, "true");
    let keeper = confiner.start(&program).await.expect("started").memory_keeper();
    let mounts = std::fs::read_to_string("/proc/self/mounts").expect("proc");
    let groups = mounts
        .lines()
        .filter_map(|line| line.split(' ').nth(1))
        .filter(|at| at.starts_with("/sys/fs/cgroup"));
    for at in groups {
        let status = Command::new("mount").args(["-o", "remount,bind,ro", at]).status().expect("mount");
        assert!(status.success(), "{at}");
    }
    let second = match confiner.start(&program).await {
        Ok(running) => format!("it ran with {:?}", running.memory_keeper()),
        Err(ConfineError::Unavailable(missing)) => format!("missing {}", missing.layer.name()),
        Err(error) => error.to_string(),
    };
    let third = Confiner::new(spawner()).start(&program).await.expect("started").memory_keeper();
    println!("said: {keeper:?}, {second}, {third:?};");
}

#[test]
fn control_groups_that_cannot_be_written_any_more_are_missed() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation=private"]).arg(std::env::current_exe().expect("ours"));
    command.args(["missing_layers::read_only", "--exact", "--nocapture", "--test-threads=1"]);
    // A spawner that never had any does without, and says so.
    let expected = "ControlGroup, missing memory, Watchdog";
    assert_eq!(said(command.env(DENIED, "groups")), expected);
}

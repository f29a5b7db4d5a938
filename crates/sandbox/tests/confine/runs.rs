//! What confined programs get and do.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use sandbox::Exit;
use sandbox::confine::{ConfineError, Confined, Confiner, MemoryKeeper, Profile};
use tokio::io::AsyncWriteExt;

use super::{folder, run, shell, spawner};

/// What a script prints, and its exit code.
async fn check(profile: Profile, cases: &[(&str, &str, i32)]) {
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    fs::write(work.join("file"), "content\n").expect("a file");
    for (script, printed, code) in cases {
        let (found, outcome) = run(&confiner, &shell(profile, &work, script)).await;
        assert_eq!((found.as_str(), outcome.exit), (*printed, Exit::Code(*code)), "{script}");
        assert_eq!((outcome.limit, outcome.without, outcome.written), (None, vec![], vec![]), "{script}");
    }
}

#[tokio::test]
async fn programs_look_at_the_workspace() {
    check(
        Profile::shell(),
        &[
            ("cat file", "content\n", 0),
            ("exit 7", "", 7),
            ("echo x 2>/dev/null > file || echo refused", "refused\n", 0),
            ("id -u; id -un; hostname", "1000\nagent\nsandbox\n", 0),
            ("echo x > /tmp/a && echo y > ~/b && cat /tmp/a ~/b", "x\ny\n", 0),
            ("ls /tmp/../ | tr '\\n' ' '; ls -d /run /sys /root 2>/dev/null", BASE, 2),
            ("set -- /proc/[0-9]*; echo $#", "2\n", 0),
            ("ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 ", 0),
            (
                "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr '\\n\\t' '  '",
                RIGHTS,
                0,
            ),
            // The mount of /proc can be written: this is for Landlock to refuse.
            ("sh -c 'echo x > /proc/self/comm' 2>/dev/null || echo refused", "refused\n", 0),
            ("ulimit -c; cat /dev/null; head -c 2 /dev/zero | wc -c", "0\n2\n", 0),
            ("env | cut -d= -f1 | sort | tr '\\n' ' '", "HOME LOGNAME PATH PWD TMPDIR USER ", 0),
        ],
    )
    .await;
}

const BASE: &str = "bin dev etc home lib lib64 proc sbin tmp usr ";
const RIGHTS: &str = "CapEff: 0000000000000000 CapBnd: 0000000000000000 NoNewPrivs: 1 Seccomp: 2 ";

#[tokio::test]
async fn every_namespace_is_its_own() {
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    for name in ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"] {
        let path = format!("/proc/self/ns/{name}");
        let (inside, _) = run(&confiner, &shell(Profile::shell(), &work, &format!("readlink {path}"))).await;
        let outside = fs::read_link(&path).expect("proc").to_string_lossy().into_owned();
        assert!(inside.starts_with(name) && inside.trim() != outside, "{inside}");
    }
}

#[tokio::test]
async fn what_is_named_is_read_wherever_it_lies() {
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    let other = tempfile::tempdir_in("/var/tmp").expect("a folder");
    fs::write(other.path().join("file"), "content\n").expect("a file");
    for read in [other.path().to_owned(), other.path().join("file")] {
        let script =
            format!("cat {0}/file; echo x 2>/dev/null > {0}/file || echo refused", other.path().display());
        let program = Confined { read: vec![read], ..shell(Profile::write(), &work, &script) };
        // The folder is for its owner, and root's programs are somebody else.
        let expected = if rustix::process::getuid().is_root() { "refused\n" } else { "content\nrefused\n" };
        let printed = run(&confiner, &program).await.0;
        assert!(printed.ends_with(expected), "{printed}");
    }
}

#[tokio::test]
async fn programs_write_the_workspace_if_they_may() {
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    let script = "mkdir deep && echo x > deep/new && mv deep/new made && rmdir deep";
    assert_eq!(run(&confiner, &shell(Profile::write(), &work, script)).await.0, "");
    // Whoever owns the folder owns what is made in it, root's folders included.
    let (made, folder) =
        (fs::metadata(work.join("made")).expect("made"), fs::metadata(&work).expect("there"));
    assert_eq!((made.uid(), made.gid()), (folder.uid(), folder.gid()));
    assert_eq!(fs::read_to_string(work.join("made")).expect("made"), "x\n");
    let left: Vec<_> = fs::read_dir(&work).expect("there").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["made"], "what stood in for absent files is gone");
}

#[tokio::test]
async fn a_shell_commits_and_leaves_the_repositorys_settings_alone() {
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    let git = |script: &str| {
        let mut git = std::process::Command::new("sh");
        git.args(["-c", script]).current_dir(&work).env("HOME", &work);
        assert!(git.status().expect("git").success(), "{script}");
    };
    git(
        "git init -q . && git config user.email a@b && git config user.name a && rm -rf .git/hooks && mkdir sub",
    );
    let script = "echo x > sub/file && git add -A && git commit -qm one && git checkout -qb other && git status --short && \
                  git log --format=%s; git config core.fsmonitor x 2>/dev/null || echo refused";
    let (printed, outcome) = run(&confiner, &shell(Profile::write(), &work, script)).await;
    assert_eq!((printed.as_str(), outcome.exit), ("one\nrefused\n", Exit::Code(0)));
    assert_eq!(outcome.written, Vec::<std::path::PathBuf>::new());
    assert!(!work.join(".git/hooks").exists() && !work.join(".claude").exists());
    git("test \"$(git log --format=%s)\" = one");
}

#[tokio::test]
async fn what_was_written_nevertheless_is_said() {
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    fs::create_dir_all(work.join("a")).expect("a folder");
    fs::write(work.join("a/CLAUDE.md"), "x").expect("a file");
    let script = "echo evil > AGENTS.md; mv a b; mkdir a; echo evil > a/CLAUDE.md; echo fine > README.md";
    let (_, outcome) = run(&confiner, &shell(Profile::write(), &work, script)).await;
    let mut written: Vec<_> =
        outcome.written.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    written.sort_unstable();
    assert_eq!(written, ["AGENTS.md", "a/CLAUDE.md", "b/CLAUDE.md"]);
}

#[tokio::test]
async fn input_arrives_and_what_cannot_be_run_says_so() {
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    let mut running = confiner.start(&shell(Profile::shell(), &work, "cat; exit 3")).await.expect("started");
    let mut io = running.take_io().expect("not taken yet");
    io.stdin.write_all(b"hello").await.expect("written");
    drop(io.stdin);
    let mut printed = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut io.stdout, &mut printed).await.expect("text");
    assert_eq!((printed.as_str(), running.wait().await.exit), ("hello", Exit::Code(3)));
    for (command, expected) in [("no-such-program", 127), ("/etc/passwd", 126), ("/no/such", 127)] {
        let program = Confined { command: command.into(), ..shell(Profile::shell(), &work, "") };
        match confiner.start(&program).await {
            Err(ConfineError::NotRun { code, .. }) => assert_eq!(code, expected, "{command}"),
            other => panic!("{command}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn what_is_to_be_shown_and_cannot_be_is_named_with_its_key() {
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    let absent = work.join("absent");
    let plain = shell(Profile::write(), &work, "true");
    let why = "No such file or directory (os error 2)";
    for (key, path, why, program) in [
        ("read", &absent, why, Confined { read: vec![absent.clone()], ..plain.clone() }),
        ("read", &absent, why, Confined { read_as_owner: vec![absent.clone()], ..plain.clone() }),
        ("write", &absent, why, Confined { write: vec![absent.clone()], ..plain.clone() }),
        ("sockets", &absent, why, Confined { sockets: vec![absent.clone()], ..plain.clone() }),
        (
            "write",
            &PathBuf::from("/etc"),
            "it belongs to the system",
            Confined { write: vec!["/etc".into()], ..plain.clone() },
        ),
    ] {
        let error = confiner.start(&program).await.expect_err("not started");
        let said = format!(
            "{} cannot be shown to the program: {why}; if `{key}` in [sandbox] or in the server's table names it, make it or \
             take it out there",
            path.display()
        );
        assert_eq!(error.to_string(), said);
        assert!(matches!(error, ConfineError::NotShown { .. }));
    }
    assert_eq!(confiner.spawner(), None, "nothing was started for any of them");
}

#[tokio::test]
async fn memory_is_kept_by_the_kernel_where_it_can_be() {
    // What waits in a pool has groups, too.
    let confiner = Confiner::new(spawner()).without_pool();
    let (_folder, work) = folder();
    let running = confiner.start(&shell(Profile::shell(), &work, "sleep 100")).await.expect("started");
    let has_groups = fs::metadata("/sys/fs/cgroup/memory").is_ok() && rustix::process::getuid().is_root();
    let expected = if has_groups { MemoryKeeper::ControlGroup } else { MemoryKeeper::Watchdog };
    assert_eq!(running.memory_keeper(), expected);
    let mark = format!("toolcrib-{}-", confiner.spawner().expect("it runs"));
    assert_eq!(groups(&mark), usize::from(has_groups));
    running.end().await;
    assert_eq!(groups(&mark), 0);
}

/// Control groups whose names begin so.
fn groups(mark: &str) -> usize {
    let ours = fs::read_to_string("/proc/self/cgroup").expect("proc");
    let ours = ours.lines().find_map(|line| line.split_once(":memory:")).map(|(_, path)| path.to_owned());
    let Some(ours) = ours else { return 0 };
    let below = fs::read_dir(format!("/sys/fs/cgroup/memory{ours}")).into_iter().flatten().flatten();
    below.filter(|entry| entry.file_name().to_string_lossy().starts_with(mark)).count()
}

#[tokio::test]
async fn a_folder_of_everything_is_no_workspace_by_whatever_name() {
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    let home = PathBuf::from(std::env::var_os("HOME").expect("a home"));
    let links = [("/".into(), "root"), (home.clone(), "home"), (work.join(".."), "above")];
    for (to, name) in &links {
        std::os::unix::fs::symlink(to, work.join(name)).expect("a link");
    }
    let wide =
        [PathBuf::from("/"), "//".into(), home.clone(), home.join("."), work.join("root"), work.join("home")];
    for workspace in wide.iter().chain(&[work.join("root/etc"), work.join("root/tmp")]) {
        for profile in [Profile::shell(), Profile::write()] {
            // A home folder that is not there is none either.
            match confiner.start(&shell(profile, workspace, "true")).await {
                Err(ConfineError::Workspace(_)) => {}
                other => panic!("{}: {other:?}", workspace.display()),
            }
        }
    }
    assert_eq!(confiner.spawner(), None, "nothing was started for any of them");
    // A link to a project is the project, and nothing beside it is written.
    std::os::unix::fs::symlink(&work, work.join("self")).expect("a link");
    let script = "echo x > file; echo x > ../beside; echo x > above/beside; echo x > root/tmp/beside; ls";
    let (_, outcome) = run(&confiner, &shell(Profile::write(), &work.join("self"), script)).await;
    assert_eq!(outcome.written, Vec::<PathBuf>::new());
    assert!(work.join("file").exists() && !work.join("../beside").exists());
    assert!(!PathBuf::from("/tmp/beside").exists());
}

/// What makes this program one whose machine shows what is mounted anywhere everywhere, as systemd sets it up.
const SHARED: &str = "TOOLCRIB_TEST_SHARED";

/// Not a test by itself: a program on such a machine.
#[tokio::test]
async fn sharing() {
    if std::env::var_os(SHARED).is_none() {
        return;
    }
    let (_folder, work) = folder();
    fs::create_dir(work.join(".git")).expect("a folder");
    for name in ["HEAD", "config"] {
        fs::write(work.join(".git").join(name), "text\n").expect("a file");
    }
    let mounts = || fs::read_to_string("/proc/self/mountinfo").expect("proc");
    let before = mounts();
    let confiner = Confiner::new(spawner());
    for is_pooled in [false, true] {
        if is_pooled {
            confiner.fill().await.expect("a spawner");
        }
        let running = confiner.start(&shell(Profile::write(), &work, "sleep 100")).await.expect("started");
        println!("said: {};", if mounts() == before { "nothing" } else { "something" });
        running.end().await;
    }
}

#[test]
fn nothing_that_is_mounted_inside_shows_outside() {
    // There nobody may do what this takes.
    if super::bwrap::is_blocked() {
        return;
    }
    let mut command = std::process::Command::new("unshare");
    if !rustix::process::getuid().is_root() {
        command.args(["--user", "--map-user=4343", "--map-group=4343", "--keep-caps"]);
    }
    command.args(["--mount", "--propagation=shared"]).arg(std::env::current_exe().expect("ours"));
    command.args(["runs::sharing", "--exact", "--nocapture", "--test-threads=1"]);
    let output = command.env(SHARED, "").output().expect("run");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(printed.matches("said: nothing;").count(), 2, "{output:?}");
}

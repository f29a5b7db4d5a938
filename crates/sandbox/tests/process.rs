//! Real process trees, and every way in which they must end.
//!
//! All processes of a tree carry a mark in their environment, by which they are counted; that also
//! finds those that left their session, their group and their parent.

#![expect(clippy::disallowed_methods, reason = "looks at /proc and starts itself anew as a victim")]

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sandbox::{Exit, Lasting, Launcher, Program, StartError, Tree, start_lasting};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// More than every step of the guard together; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often something is tried that takes longer on a machine that is busy at that moment.
const TRIES_MAX: u32 = 5;

/// How often a condition is looked at that nothing announces.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The variable that marks the processes of one test.
const MARK: &str = "TOOLCRIB_TEST_MARK";

/// The variable that names the file which a program puts there once it has tidied up.
const TIDIED: &str = "TOOLCRIB_TEST_TIDIED";

/// Sleepers that ignore every polite signal: one in the background, one in a session of its own, one
/// orphaned by a double fork with all streams closed. Each says `up` when its trap is set.
const STUBBORN: &str = r#"
stay='trap "" TERM HUP INT; echo up >&3; while :; do sleep 100; done'
exec 3>&1
sh -c "$stay" &
setsid sh -c "$stay" &
(setsid sh -c "$stay" </dev/null >/dev/null 2>&1 &) &
"#;

fn launcher() -> Launcher {
    Launcher { guard: PathBuf::from(env!("CARGO_BIN_EXE_toolcrib-guard")), guard_args: Vec::new() }
}

fn shell(mark: &str, script: &str) -> Program {
    Program {
        command: "/bin/sh".to_owned(),
        args: vec!["-c".to_owned(), script.to_owned()],
        env: vec![(MARK.to_owned(), mark.to_owned())],
        ..Program::default()
    }
}

/// A mark nobody else uses.
fn mark(test: &str) -> String {
    format!("{test}-{}-{:?}", std::process::id(), std::thread::current().id())
}

/// The living processes with `mark`, the guard among them.
fn alive(mark: &str) -> usize {
    let wanted = format!("{MARK}={mark}");
    let processes = fs::read_dir("/proc").expect("proc").filter_map(|entry| {
        // The dead have no environment any more.
        fs::read(entry.ok()?.path().join("environ")).ok()
    });
    processes.filter(|all| all.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes())).count()
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Reads `count` lines that say `up`.
async fn until_up(tree: &mut Tree, count: usize) -> sandbox::TreeIo {
    let mut io = tree.take_io().expect("not taken yet");
    let mut lines = vec![0; count * 3];
    timeout(PATIENCE, io.stdout.read_exact(&mut lines)).await.expect("in time").expect("lines");
    assert_eq!(lines, b"up\n".repeat(count));
    io
}

/// Runs `script` to its end and returns what it printed on stdout and how it ended.
async fn run(program: &Program) -> (String, Exit) {
    let mut tree = launcher().start(program).expect("started");
    let mut io = tree.take_io().expect("not taken yet");
    drop(io.stdin);
    let mut printed = String::new();
    timeout(PATIENCE, io.stdout.read_to_string(&mut printed)).await.expect("in time").expect("text");
    (printed, timeout(PATIENCE, tree.wait()).await.expect("in time"))
}

#[tokio::test]
async fn passes_streams_and_exit_code() {
    for (script, printed, exit) in [
        ("echo hello", "hello\n", Exit::Code(0)),
        ("exit 7", "", Exit::Code(7)),
        ("exit 255", "", Exit::Code(255)),
        ("kill -TERM $$", "", Exit::Signal(15)),
        ("kill -KILL $$", "", Exit::Signal(9)),
        // To its whole group, which must not hold the guard.
        ("kill -KILL 0", "", Exit::Signal(9)),
        ("exit 143", "", Exit::Signal(15)),
        ("echo $0", "/bin/sh\n", Exit::Code(0)),
        ("cat; echo end", "end\n", Exit::Code(0)),
    ] {
        assert_eq!(run(&shell("", script)).await, (printed.to_owned(), exit), "{script}");
    }
    let mut tree = launcher().start(&shell("", "cat; cat >&2")).expect("started");
    let mut io = tree.take_io().expect("not taken yet");
    assert!(tree.take_io().is_none());
    io.stdin.write_all(b"ping").await.expect("written");
    let mut pong = [0; 4];
    timeout(PATIENCE, io.stdout.read_exact(&mut pong)).await.expect("in time").expect("echoed");
    assert_eq!(&pong, b"ping");
    drop(io.stdin);
    assert_eq!(timeout(PATIENCE, tree.wait()).await.expect("in time"), Exit::Code(0));
    assert_eq!(tree.wait().await, Exit::Code(0), "may be asked again");
}

#[tokio::test]
async fn an_argument_is_an_argument() {
    let args = ["-c", "for a; do echo \"<$a>\"; done", "sh", "a b", "", "$HOME", "--", "-x", "naïve"];
    let program = Program { args: args.map(str::to_owned).into(), ..shell("", "") };
    assert_eq!(run(&program).await.0, "<a b>\n<>\n<$HOME>\n<-->\n<-x>\n<naïve>\n");
}

#[tokio::test]
async fn a_program_finds_what_it_is_handed_and_nothing_of_ours() {
    let handed = [("LANG", "inherited"), ("PATH", "/usr/bin:/bin"), ("GIVEN", "1")];
    let program = Program {
        command: "env".to_owned(),
        inherited: handed.map(|(name, value)| (name.into(), value.into())).into(),
        env: vec![("MINE".to_owned(), "a=b".to_owned()), ("LANG".to_owned(), "xx".to_owned())],
        ..Program::default()
    };
    let (printed, exit) = run(&program).await;
    assert_eq!(exit, Exit::Code(0));
    let mut lines: Vec<&str> = printed.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["GIVEN=1", "LANG=xx", "MINE=a=b", "PATH=/usr/bin:/bin"]);
}

#[tokio::test]
async fn the_program_gets_no_descriptor_but_its_own() {
    let (_reader, writer) = std::io::pipe().expect("a pipe");
    rustix::io::fcntl_setfd(&writer, rustix::io::FdFlags::empty()).expect("ours");
    let (printed, _) = run(&shell("", "ls /proc/self/fd | tr '\\n' ' '")).await;
    // 3 is the listing's own.
    assert_eq!(printed, "0 1 2 3 ");
}

#[tokio::test]
async fn runs_in_its_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().canonicalize().expect("there");
    let program = Program { cwd: Some(path.clone()), ..shell("", "pwd") };
    assert_eq!(run(&program).await.0, format!("{}\n", path.display()));
}

#[tokio::test]
async fn without_a_folder_it_gets_one_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().canonicalize().expect("there");
    let own = path.join("servers/it");
    let program = Program { own_folder: Some(own.clone()), ..shell("", "pwd") };
    let elsewhere = Program { cwd: Some(path.clone()), ..program.clone() };
    assert_eq!(run(&elsewhere).await.0, format!("{}\n", path.display()));
    assert!(!own.exists(), "it is made when it is needed");
    for _ in 0..2 {
        assert_eq!(run(&program).await.0, format!("{}\n", own.display()));
    }
    for made in [&own, &path.join("servers")] {
        let mode = std::os::unix::fs::MetadataExt::mode(&made.metadata().expect("there"));
        assert_eq!(mode & 0o777, 0o700, "{}", made.display());
    }
    let command = "./tool".to_owned();
    let relative = Program { command, own_folder: Some(own), ..Program::default() };
    assert!(matches!(launcher().start(&relative), Err(StartError::NotFound { .. })));
    let nowhere = Program { own_folder: Some("/proc/version/it".into()), ..shell("", "true") };
    assert!(matches!(launcher().start(&nowhere), Err(StartError::OwnFolder { .. })));
}

#[tokio::test]
async fn what_cannot_be_started_says_so() {
    let missing = Program { command: "no-such-program".to_owned(), ..Program::default() };
    assert!(matches!(launcher().start(&missing), Err(StartError::NotFound { .. })));
    let nowhere = Program { cwd: Some("/no/such/folder".into()), ..shell("", "true") };
    assert!(matches!(launcher().start(&nowhere), Err(StartError::Cwd { .. })));
    let data = Program { command: "/proc/version".to_owned(), ..Program::default() };
    assert!(matches!(launcher().start(&data), Err(StartError::NotExecutable { .. })));
    let no_guard = Launcher { guard: "/no/such/guard".into(), guard_args: Vec::new() };
    assert!(matches!(no_guard.start(&shell("", "true")), Err(StartError::Io(_))));
}

#[tokio::test]
async fn an_interpreter_that_is_missing_is_told_on_stderr() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("script");
    fs::write(&script, "#!/no/such/interpreter\n").expect("a script");
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("ours");
    let command = script.to_str().expect("UTF-8").to_owned();
    let mut tree = launcher().start(&Program { command, ..Program::default() }).expect("started");
    let mut said = String::new();
    let mut io = tree.take_io().expect("not taken yet");
    timeout(PATIENCE, io.stderr.read_to_string(&mut said)).await.expect("in time").expect("text");
    assert!(said.contains("could not be run"), "{said}");
    assert_eq!(tree.wait().await, Exit::Code(127));
}

#[tokio::test]
async fn end_leaves_nobody() {
    let mark = mark("end");
    let mut tree =
        launcher().start(&shell(&mark, &format!("{STUBBORN} trap '' TERM; wait"))).expect("started");
    let io = until_up(&mut tree, 3).await;
    assert!(alive(&mark) >= 5, "guard, shell and three sleepers");
    drop(io);
    timeout(PATIENCE, tree.end()).await.expect("in time");
    assert_eq!(alive(&mark), 0);
}

#[tokio::test]
async fn a_polite_program_ends_at_once() {
    // Sees the end of its input, tidies up, and leaves; no signal is needed.
    let polite = "trap 'exit 9' TERM; echo up; cat; exit 3";
    // Takes all the time that there is.
    let stubborn = "trap '' TERM; echo up; while :; do sleep 100; done";
    // The machine may be slow now and then, and the guard is not always.
    for tries in 1.. {
        let mut polite = launcher().start(&shell("", polite)).expect("started");
        let mut stubborn = launcher().start(&shell("", stubborn)).expect("started");
        drop((until_up(&mut polite, 1).await, until_up(&mut stubborn, 1).await));
        let mut last = pin!(timeout(PATIENCE, stubborn.end()));
        let first = tokio::select! {
            biased;
            _ = &mut last => None,
            exit = polite.end() => Some(exit),
        };
        if first == Some(Exit::Code(3)) {
            assert_eq!(last.await.expect("in time"), Exit::Signal(9));
            break;
        }
        assert!(tries < TRIES_MAX, "{first:?}");
    }
}

#[tokio::test]
async fn what_is_ended_at_once_may_never_have_begun() {
    let mark = mark("at once");
    for _ in 0..20 {
        let tree = launcher().start(&shell(&mark, "sleep 100")).expect("started");
        let exit = timeout(PATIENCE, tree.end()).await.expect("in time");
        assert!(matches!(exit, Exit::Code(125) | Exit::Signal(15)), "{exit:?}");
    }
    assert_eq!(alive(&mark), 0);
}

/// A guard whose program has gone before it was ready starts nothing at all.
#[test]
fn a_guard_whose_lifeline_is_closed_starts_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("trace");
    for (closes, code, runs) in [(true, 125, false), (false, 7, true)] {
        let (lifeline, program) = rustix::pipe::pipe().expect("a pipe");
        let program = (!closes).then_some(program);
        if let Some(program) = &program {
            rustix::io::fcntl_setfd(program, rustix::io::FdFlags::CLOEXEC).expect("ours");
        }
        let ended = Command::new(env!("CARGO_BIN_EXE_toolcrib-guard"))
            .arg(std::os::fd::AsRawFd::as_raw_fd(&lifeline).to_string())
            .args(["/bin/sh", "-c", "echo > \"$0\"; exit 7"])
            .arg(&trace)
            .status()
            .expect("it runs");
        assert_eq!((ended.code(), trace.exists()), (Some(code), runs));
        drop((lifeline, program));
    }
}

#[tokio::test]
async fn a_program_may_tidy_up_when_terminated() {
    let script = "trap 'echo up; exit 4' TERM; echo up; while :; do sleep 0.05; done";
    let mut tree = launcher().start(&shell("", script)).expect("started");
    let _io = until_up(&mut tree, 1).await;
    assert_eq!(timeout(PATIENCE, tree.end()).await.expect("in time"), Exit::Code(4));
}

/// Says `up`, and after SIGTERM takes more time to tidy up than an abandoned program has: then it puts a file there and
/// exits with 4. Its shell would say on stderr that a sleeper was ended, and die of that once nobody reads it.
fn slow_to_tidy_up(mark: &str, tidied: &Path) -> Program {
    let tidied = tidied.display();
    let script = format!(
        "exec 2>/dev/null; trap 'sleep 0.7; : > {tidied}; exit 4' TERM; echo up; while :; do sleep 0.01; done"
    );
    shell(mark, &script)
}

#[tokio::test]
async fn an_orderly_end_leaves_time_to_tidy_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let tidied = folder.path().join("tidied");
    // The machine may be slow now and then, and the guard is not always.
    for tries in 1.. {
        let mut tree = launcher().start(&slow_to_tidy_up("", &tidied)).expect("started");
        let _io = until_up(&mut tree, 1).await;
        let exit = timeout(PATIENCE, tree.end()).await.expect("in time");
        if exit == Exit::Code(4) && tidied.exists() {
            break;
        }
        assert!(tries < TRIES_MAX, "{exit:?}");
    }
}

#[tokio::test]
async fn a_program_that_leaves_takes_its_tree_along() {
    let mark = mark("leaves");
    let mut tree =
        launcher().start(&shell(&mark, &format!("{STUBBORN} read line; exit 5"))).expect("started");
    let mut io = until_up(&mut tree, 3).await;
    io.stdin.write_all(b"go\n").await.expect("written");
    assert_eq!(timeout(PATIENCE, tree.wait()).await.expect("in time"), Exit::Code(5));
    assert_eq!(alive(&mark), 0);
    let mut rest = Vec::new();
    timeout(PATIENCE, io.stdout.read_to_end(&mut rest)).await.expect("in time").expect("the end");
}

#[tokio::test]
async fn the_end_of_output_is_seen_while_the_program_runs_on() {
    let mut tree = launcher().start(&shell("", "exec >&-; cat >/dev/null")).expect("started");
    let mut io = tree.take_io().expect("not taken yet");
    let mut rest = Vec::new();
    timeout(PATIENCE, io.stdout.read_to_end(&mut rest)).await.expect("in time").expect("the end");
    assert!(timeout(Duration::ZERO, tree.wait()).await.is_err(), "still running");
    drop(io.stdin);
    assert_eq!(timeout(PATIENCE, tree.wait()).await.expect("in time"), Exit::Code(0));
}

#[tokio::test]
async fn dropping_the_handle_ends_the_tree() {
    let mark = mark("drop");
    let mut tree = launcher().start(&shell(&mark, &format!("{STUBBORN} wait"))).expect("started");
    let io = until_up(&mut tree, 3).await;
    drop((tree, io));
    wait_until("the tree of a dropped handle", || alive(&mark) == 0);
}

#[tokio::test]
async fn a_terminated_guard_ends_the_tree() {
    let mark = mark("guard");
    let mut tree = launcher().start(&shell(&mark, &format!("{STUBBORN} wait"))).expect("started");
    let _io = until_up(&mut tree, 3).await;
    let guard = rustix::process::Pid::from_raw(tree.pid().cast_signed()).expect("a process");
    rustix::process::kill_process(guard, rustix::process::Signal::TERM).expect("alive");
    timeout(PATIENCE, tree.wait()).await.expect("in time");
    assert_eq!(alive(&mark), 0);
}

#[tokio::test]
async fn the_direct_child_does_not_survive_a_killed_guard() {
    let mark = mark("fence");
    let mut tree = launcher().start(&shell(&mark, "echo up; exec sleep 100")).expect("started");
    let _io = until_up(&mut tree, 1).await;
    let guard = rustix::process::Pid::from_raw(tree.pid().cast_signed()).expect("a process");
    rustix::process::kill_process(guard, rustix::process::Signal::KILL).expect("alive");
    assert_eq!(timeout(PATIENCE, tree.wait()).await.expect("in time"), Exit::Lost);
    wait_until("the child of a killed guard", || alive(&mark) == 0);
}

#[test]
fn a_lasting_program_has_what_it_is_given_and_stands_in_the_root_folder() {
    let environment = [("GIVEN".into(), "1".into())].into();
    for (executable, args, expected) in [("env", &[][..], "GIVEN=1\n"), ("pwd", &[OsStr::new("-P")], "/\n")] {
        let ((input, _), (mut output, theirs)) =
            (std::io::pipe().expect("a pipe"), std::io::pipe().expect("a pipe"));
        let streams = [input.into(), theirs.try_clone().expect("another").into(), theirs.into()];
        let executable = &Path::new("/usr/bin").join(executable);
        start_lasting(Lasting { executable, args, environment: &environment, streams }).expect("started");
        assert_eq!(std::io::read_to_string(&mut output).expect("text"), expected, "{executable:?}");
    }
}

/// What a terminal sends to the group of whoever sits at it reaches neither the guard nor the command.
#[tokio::test]
async fn a_guard_leads_a_session_of_its_own() {
    let mut tree = launcher().start(&shell("", "echo up; cat")).expect("started");
    let _io = until_up(&mut tree, 1).await;
    let guard = rustix::process::Pid::from_raw(tree.pid().cast_signed());
    assert_eq!(rustix::process::getsid(guard).ok(), guard);
    timeout(PATIENCE, tree.end()).await.expect("in time");
}

/// The program in `when_we_are_killed_the_tree_ends`: starts a tree and waits to be killed.
#[tokio::test]
#[ignore = "run by another test, in a process of its own"]
async fn victim() {
    let mark = std::env::var(MARK).expect("set by the other test");
    let mut tree = launcher().start(&shell(&mark, &format!("{STUBBORN} wait"))).expect("started");
    let _io = until_up(&mut tree, 3).await;
    println!("ready");
    std::future::pending::<()>().await;
}

#[test]
fn when_we_are_killed_the_tree_ends() {
    let mark = mark("killed");
    let mut victim = Command::new(std::env::current_exe().expect("ourselves"))
        .args(["--exact", "victim", "--ignored", "--nocapture"])
        .env(MARK, &mark)
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let output = BufReader::new(victim.stdout.take().expect("piped"));
    assert!(output.lines().map_while(Result::ok).any(|line| line.contains("ready")));
    assert!(alive(&mark) >= 6, "the victim, guard, shell and three sleepers");
    victim.kill().expect("alive");
    victim.wait().expect("ours");
    wait_until("the tree of a killed program", || alive(&mark) == 0);
}

/// The program in `when_we_are_killed_nobody_takes_their_time`.
#[tokio::test]
#[ignore = "run by another test, in a process of its own"]
async fn victim_with_a_slow_child() {
    let (mark, tidied) = (std::env::var(MARK).expect("set"), std::env::var(TIDIED).expect("set"));
    let mut tree = launcher().start(&slow_to_tidy_up(&mark, Path::new(&tidied))).expect("started");
    let _io = until_up(&mut tree, 1).await;
    println!("ready");
    std::future::pending::<()>().await;
}

#[test]
fn when_we_are_killed_nobody_takes_their_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let tidied = folder.path().join("tidied");
    // On a machine that is busy the guard may come late, and they get the time that they want.
    for tries in 1.. {
        let mark = mark(&format!("abandoned {tries}"));
        let mut victim = Command::new(std::env::current_exe().expect("ourselves"))
            .args(["--exact", "victim_with_a_slow_child", "--ignored", "--nocapture"])
            .env(MARK, &mark)
            .env(TIDIED, &tidied)
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let output = BufReader::new(victim.stdout.take().expect("piped"));
        assert!(output.lines().map_while(Result::ok).any(|line| line.contains("ready")));
        victim.kill().expect("alive");
        victim.wait().expect("ours");
        wait_until("the tree of a killed program", || alive(&mark) == 0);
        if !tidied.exists() {
            break;
        }
        fs::remove_file(&tidied).expect("there");
        assert!(tries < TRIES_MAX, "it had the time of an orderly end");
    }
}

/// Killed at any moment around the start, nothing may be left either.
#[test]
fn killed_while_starting_nothing_is_left() {
    let mark = mark("starting");
    for delay_us in (0..6000).step_by(300) {
        let mut victim = Command::new(std::env::current_exe().expect("ourselves"))
            .args(["--exact", "victim", "--ignored", "--nocapture"])
            .env(MARK, &mark)
            .stdout(Stdio::null())
            .spawn()
            .expect("started");
        // Not a wait for an outcome: the moment of the kill is what varies.
        std::thread::sleep(Duration::from_micros(delay_us));
        victim.kill().expect("ours");
        victim.wait().expect("ours");
    }
    wait_until("the trees of killed programs", || alive(&mark) == 0);
}

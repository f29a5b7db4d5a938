//! Programs whose root stood ready: they see what others see, nothing of each other, and the machine as it is.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::getuid;
use sandbox::confine::{ConfineError, Confined, Confiner, Layer, Limits, Profile, Running, self_test};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::missing_layers::said;
use super::{PATIENCE, folder, probe, run, shell, spawner, without_bwrap};

/// With the second program that has run a template is made, when its end has been told.
const STARTS_MAX: usize = 8;

/// In a template there is a `/proc` of nobody below the program's own.
const COUNT: &str = "echo \"proc $(grep -c ' /proc ' /proc/self/mountinfo)\"; ";

/// What a program prints in a new root, and then in a template.
async fn both(confiner: &Confiner, program: &Confined) -> (String, String) {
    let mut counting = program.clone();
    counting.args[1] = format!("{COUNT}{}", counting.args[1].to_string_lossy()).into();
    let of = |printed: &str, kind: &str| printed.strip_prefix(kind).map(str::to_owned);
    let anew = of(&run(confiner, &counting).await.0, "proc 1\n").expect("the first is no template's");
    for _ in 0..STARTS_MAX {
        if let Some(printed) = of(&run(confiner, &counting).await.0, "proc 2\n") {
            return (anew, printed);
        }
    }
    panic!("no template after {STARTS_MAX} starts");
}

#[tokio::test]
async fn what_a_program_gets_is_the_same_in_a_template() {
    let scratch = Limits { scratch_bytes: 1 << 20, ..Limits::default() };
    let small = Profile { limits: scratch, ..Profile::write() };
    let script = "pwd; id; hostname; env | sort; find / -xdev -path /usr -prune -o -printf '%p %y %l\\n' 2>&1 | sort; \
                  cat /etc/nsswitch.conf /etc/passwd; df -k /tmp ~ | tail -n 2; \
                  grep -E '^(Cap|NoNew|Seccomp)' /proc/self/status; echo x > /tmp/a; echo x > ~/b; echo x 2>&1 > file; \
                  echo x 2>&1 > /x; mkdir /etc/x /opt 2>&1; rm /etc/passwd 2>&1; rm -f ~/b file; \
                  cut -d' ' -f4-6 /proc/self/mountinfo | grep -v ' /proc ' | sort; cat /proc/sys/user/max_user_namespaces /proc/1/comm; ulimit -a";
    for profile in [Profile::shell(), Profile::write(), Profile::worker(), small] {
        let (_folder, work) = folder();
        let confiner = Confiner::new(spawner()).without_pool();
        let (anew, in_template) = both(&confiner, &shell(profile, &work, script)).await;
        assert!(anew.contains("CapEff") && anew.contains("agent"), "{anew}");
        assert_eq!(in_template, anew, "{}", profile.name);
    }
}

#[tokio::test]
async fn nothing_of_a_program_is_left_in_a_template() {
    let confiner = Confiner::new(spawner()).without_pool();
    let (_folder, work) = folder();
    let script = "ls -A /tmp ~ /home /etc; touch /tmp/a ~/b /etc/c /.empty/d /x 2>/dev/null; rm -rf /home /proc /dev /etc 2>/dev/null; \
                  chmod 777 /etc / 2>/dev/null; mount -o remount,rw / 2>/dev/null; umount /proc 2>/dev/null; echo 1 2>/dev/null > /proc/sys/user/max_user_namespaces; \
                  stat -c '%a %n' / /etc /.empty; umount -l / 2>/dev/null; cat /proc/1/comm";
    let program = shell(Profile::write(), &work, script);
    let (first, second) = both(&confiner, &program).await;
    assert_eq!(second, first);
    for _ in 0..3 {
        assert_eq!(run(&confiner, &program).await.0, second);
    }
}

#[tokio::test]
async fn another_folder_is_another_template() {
    // Not below the temporary folder, which each program has for itself.
    let folder = || tempfile::tempdir_in("/var/tmp").expect("a folder");
    let (one, other) = (folder(), folder());
    let confiner = Confiner::new(spawner()).without_pool();
    for folder in [&one, &other] {
        let work = folder.path().canonicalize().expect("there");
        fs::write(work.join("file"), "there\n").expect("a file");
        let name = work.file_name().expect("a name").to_string_lossy().into_owned();
        let script = "ls -A /var/tmp; cat file";
        let (anew, in_template) = both(&confiner, &shell(Profile::shell(), &work, script)).await;
        assert_eq!(anew, format!("{name}\nthere\n"));
        assert_eq!(in_template, anew);
    }
}

#[tokio::test]
async fn a_template_holds_who_wants_out() {
    let confiner = Confiner::new(spawner()).without_pool();
    let (_folder, work) = folder();
    both(&confiner, &shell(Profile::write(), &work, "true")).await;
    // Where the probe lies it may need a template of its own, which it then has from the third time on.
    for _ in 0..4 {
        let tested = self_test(&confiner, &probe(), Profile::write(), &[]).await.expect("the probe runs");
        assert_eq!((tested.escaped(), tested.untried()), (vec![], vec![]));
    }
    let is_its_own = !probe().guard.starts_with("/tmp");
    // One in which a start has failed would be gone. Nobody but root may look.
    if getuid().is_root() {
        assert_eq!(templates(&confiner), 1 + usize::from(is_its_own));
    }
    assert_eq!(run(&confiner, &shell(Profile::write(), &work, COUNT)).await.0, "proc 2\n");
}

/// How many the spawner keeps: it has nobody else's mounts.
fn templates(confiner: &Confiner) -> usize {
    let files = format!("/proc/{}/fd", confiner.spawner().expect("it runs"));
    fs::read_dir(files).expect("ours").flatten().filter(|file| is_of_mounts(&file.path())).count()
}

fn is_of_mounts(file: &Path) -> bool {
    fs::read_link(file).is_ok_and(|to| to.to_string_lossy().starts_with("mnt:["))
}

#[tokio::test]
async fn what_a_program_has_closed_is_closed_while_it_lives() {
    let confiner = Confiner::new(spawner()).without_pool();
    let (_folder, work) = folder();
    both(&confiner, &shell(Profile::shell(), &work, "true")).await;
    let mut running =
        confiner.start(&shell(Profile::shell(), &work, &format!("{COUNT}exec >&- 2>&-; sleep 1000"))).await;
    let running = running.as_mut().expect("it runs");
    let mut printed = String::new();
    let mut io = running.take_io().expect("not taken yet");
    timeout(PATIENCE, io.stdout.read_to_string(&mut printed)).await.expect("its end is seen").expect("text");
    assert_eq!(printed, "proc 2\n");
}

#[tokio::test]
async fn what_fails_in_a_template_is_said_by_the_ordinary_way_and_ends_the_template() {
    let confiner = Confiner::new(spawner()).without_pool();
    let (_folder, work) = folder();
    let program = shell(Profile::shell(), &work, "true");
    both(&confiner, &program).await;
    let nowhere = Confined { cwd: Some("/nowhere".into()), ..program.clone() };
    match confiner.start(&nowhere).await {
        Err(ConfineError::Unavailable(missing)) => assert_eq!(missing.layer, Layer::Root),
        other => panic!("{other:?}"),
    }
    // Until programs have run in the ordinary way again.
    both(&confiner, &program).await;
}

/// What the kinds of the open files of a process are, in order: what is open twice stands there twice.
fn open_files(pid: &str) -> Vec<String> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).expect("ours").flatten();
    let names =
        files.filter_map(|file| Some(fs::read_link(file.path()).ok()?.to_string_lossy().into_owned()));
    // Of pipes and sockets the numbers differ, of others the processes in their paths.
    let kinds = names.map(|name| name.chars().filter(|char| !char.is_ascii_digit()).collect());
    let mut kinds: Vec<String> = kinds.collect();
    kinds.sort_unstable();
    kinds
}

/// The children of a spawner.
fn inits(confiner: &Confiner) -> Vec<String> {
    let pid = confiner.spawner().expect("it runs");
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("proc");
    children.split_whitespace().map(str::to_owned).collect()
}

/// Starts it, and says in which root it runs, what it has open and what its init has.
async fn held(confiner: &Confiner, program: &Confined) -> (Running, String, Vec<String>) {
    let before = inits(confiner);
    let mut running = confiner.start(program).await.unwrap_or_else(|error| panic!("{error}"));
    let mut printed = String::new();
    let mut io = running.take_io().expect("not taken yet");
    timeout(PATIENCE, io.stdout.read_to_string(&mut printed)).await.expect("its end is seen").expect("text");
    let init = inits(confiner).into_iter().find(|pid| !before.contains(pid)).expect("an init");
    let files = open_files(&init);
    (running, printed, files)
}

#[tokio::test]
async fn an_init_that_is_started_again_holds_nothing_of_others() {
    // Nobody else may look, nor go where this template is made useless.
    if !getuid().is_root() {
        return;
    }
    let (_folder, work) = folder();
    let lasting =
        shell(Profile::shell(), &work, &format!("{COUNT}ls /proc/self/fd; exec >&- 2>&-; sleep 1000"));
    // Nobody else's are there yet.
    let fresh = Confiner::new(spawner()).without_pool();
    run(&fresh, &shell(Profile::shell(), &work, "true")).await;
    let (_first, expected, expected_files) = held(&fresh, &lasting).await;
    assert_eq!(expected, "proc 1\n0\n1\n2\n3\n");

    let confiner = Confiner::new(spawner()).without_pool();
    both(&confiner, &shell(Profile::shell(), &work, "true")).await;
    let (other, printed, _) = held(&confiner, &lasting).await;
    assert_eq!(printed, "proc 2\n0\n1\n2\n3\n");
    // Without a `/proc` that is not covered the kernel gives nobody another one.
    let pid = confiner.spawner().expect("it runs");
    let names = fs::read_dir(format!("/proc/{pid}/fd")).expect("ours").flatten();
    let mounts = names.map(|file| file.path()).find(|file| is_of_mounts(file)).expect("a template");
    let mut command = Command::new("nsenter");
    command.arg(format!("--mount={}", mounts.display())).args([
        "mount",
        "--no-mtab",
        "-t",
        "tmpfs",
        "tmpfs",
        "/proc",
    ]);
    assert!(command.status().expect("nsenter").success());
    let (again, printed, files) = held(&confiner, &lasting).await;
    assert_eq!((printed, files), (expected, expected_files));
    assert_eq!(templates(&confiner), 0);
    // The end of another's is told while it runs.
    timeout(PATIENCE, other.end()).await.expect("in time");
    timeout(PATIENCE, again.end()).await.expect("in time");
}

/// Makes this program one that does something else: which, and what it prints of it.
const DOES: &str = "TOOLCRIB_TEST_TEMPLATE_DOES";

/// Not a test by itself: a program whose machine gets a mount after a template was made.
#[tokio::test]
async fn mounting() {
    if std::env::var(DOES).as_deref() != Ok("mounting") {
        return;
    }
    let confiner = Confiner::new(without_bwrap()).without_pool();
    let (_folder, work) = folder();
    let program = shell(Profile::shell(), &work, "cat file 2>/dev/null");
    both(&confiner, &program).await;
    mount_on(&work);
    fs::write(work.join("file"), "mounted\n").expect("a file");
    println!("said: {};", run(&confiner, &program).await.0.trim());
}

/// Not a test by itself: one that starts the same program again and again, and says in which root it ran, or what was missing.
#[tokio::test]
async fn starting() {
    if std::env::var(DOES).as_deref() != Ok("starting") {
        return;
    }
    let confiner = Confiner::new(without_bwrap()).without_pool();
    let (_folder, work) = folder();
    let mut said = Vec::new();
    for _ in 0..=STARTS_MAX {
        let program = shell(Profile::worker(), &work, COUNT);
        said.push(match printed(&confiner, &program).await {
            Ok(printed) => printed.trim().to_owned(),
            Err(ConfineError::Unavailable(missing)) => format!("missing {}", missing.layer.name()),
            Err(error) => error.to_string(),
        });
    }
    println!("said: {};", said.join(", "));
}

/// What it printed, if it ran.
async fn printed(confiner: &Confiner, program: &Confined) -> Result<String, ConfineError> {
    let mut running = confiner.start(program).await?;
    let mut printed = String::new();
    let mut io = running.take_io().expect("not taken yet");
    io.stdout.read_to_string(&mut printed).await.expect("text");
    running.wait().await;
    Ok(printed)
}

/// What this program says that does so, started by these words.
fn doing(what: &str, words: &[&str]) -> String {
    let (first, rest) = words.split_first().expect("a program");
    let mut command = Command::new(first);
    command.args(rest).arg(std::env::current_exe().expect("ours"));
    command.args([&format!("template::{what}"), "--exact", "--nocapture", "--test-threads=1"]);
    said(command.env(DOES, what).env("TMPDIR", "/tmp"))
}

/// An ordinary user in a user namespace, who may mount.
const IN_A_NAMESPACE: [&str; 5] = ["unshare", "--user", "--map-user=4343", "--map-group=4343", "--keep-caps"];

fn mount_on(work: &Path) {
    let status = Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(work).status().expect("mount");
    assert!(status.success());
}

#[test]
fn what_was_mounted_since_is_seen() {
    let mut words = if getuid().is_root() { vec!["unshare"] } else { IN_A_NAMESPACE.to_vec() };
    words.push("--mount");
    assert_eq!(doing("mounting", &words), "mounted");
}

/// As often as `starting` says something.
fn each_time(outcome: &str) -> String {
    [outcome; STARTS_MAX + 1].join(", ")
}

#[test]
fn what_is_missing_is_missing_however_often_one_asks() {
    // In both, root could make a template that lets through what is refused.
    if !getuid().is_root() {
        return;
    }
    let covered = "mount --bind /dev/null /proc/uptime && exec \"$@\"";
    let words = ["unshare", "--mount", "sh", "-c", covered, "sh"];
    assert_eq!(doing("starting", &words), each_time("missing proc"));
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().to_str().expect("text");
    let changed = format!("mount --rbind / {root} && exec chroot {root} \"$@\"");
    let words = ["unshare", "--mount", "sh", "-c", &changed, "sh"];
    assert_eq!(doing("starting", &words), each_time("missing user_namespace"));
}

#[test]
fn where_no_init_can_be_made_in_a_template_all_start_in_the_ordinary_way() {
    // A template's inits are one user namespace further in than others, and there are 33 of them at most, one in the other.
    let words = IN_A_NAMESPACE.repeat(32);
    assert_eq!(doing("starting", &words), each_time("proc 1"));
}

//! Where only `bwrap` may make a user namespace: what holds otherwise holds through it, and nothing that it says is believed.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sandbox::confine::{Aside, ConfineError, Confined, Confiner, Layer, Profile, StartedBy, Unavailable};
use sandbox::egress::HostRules;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{BWRAP, folder, run, shell, spawner};

/// Set where `clone3` is refused to all processes, which is how we make namespaces and `bwrap` does not.
const BLOCKED: &str = "TOOLCRIB_TEST_BLOCKED";

/// Makes it so, and us an ordinary user.
const BLOCK: &str = include_str!("block.py");

pub(crate) fn is_blocked() -> bool {
    std::env::var_os(BLOCKED).is_some()
}

/// These tests where only `bwrap` may make namespaces.
fn blocked(bwrap: Option<&Path>, words: &[&str]) -> Command {
    let mut command = Command::new("python3");
    let kind = if is_setuid(bwrap) { "setuid" } else { "plain" };
    command.args(["-c", BLOCK, kind]).arg(std::env::current_exe().expect("ours")).args(words);
    if let Some(bwrap) = bwrap {
        command.env(BWRAP, bwrap);
    }
    command.env("HOME", "/nonexistent").env(BLOCKED, "1");
    command
}

fn is_setuid(bwrap: Option<&Path>) -> bool {
    bwrap
        .and_then(|bwrap| fs::metadata(bwrap).ok())
        .is_some_and(|meta| meta.permissions().mode() & 0o4000 != 0)
}

fn all_hold(bwrap: Option<&Path>, group: &str) {
    if is_blocked() {
        return;
    }
    let output = blocked(bwrap, &[group, "--test-threads=2"]).output().expect("python3");
    assert!(output.status.success(), "{group}\n{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn what_holds_otherwise_holds_through_bwrap() {
    for group in ["escapes::", "runs::", "servers::", "bombs::", "bwrap::inside::"] {
        all_hold(None, group);
    }
}

#[test]
fn all_ends_hold_through_bwrap() {
    all_hold(None, "ends::");
}

/// A folder in which an ordinary user finds programs of root.
fn trusted_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("a mode");
    folder
}

#[test]
fn what_holds_otherwise_holds_through_a_setuid_bwrap() {
    if is_blocked() || !rustix::process::getuid().is_root() {
        return;
    }
    let folder = trusted_folder();
    let bwrap = folder.path().join("bwrap");
    fs::copy("/usr/bin/bwrap", &bwrap).expect("bwrap is installed");
    fs::set_permissions(&bwrap, Permissions::from_mode(0o4755)).expect("a mode");
    for group in ["escapes::", "runs::", "bombs::", "bwrap::inside::"] {
        all_hold(Some(&bwrap), group);
    }
}

/// Not tests by themselves: what runs where only `bwrap` may make namespaces.
mod inside {
    use super::*;

    #[tokio::test]
    async fn programs_are_started_by_bwrap_and_say_so() {
        if !is_blocked() {
            return;
        }
        let confiner = Confiner::new(spawner());
        let (_folder, work) = folder();
        for (profile, without) in [(Profile::write(), &[][..]), (Profile::net(), &[Layer::Names])] {
            let running = confiner.start(&shell(profile, &work, "true")).await.expect("started");
            assert_eq!((running.started_by(), running.without()), (StartedBy::Bwrap, without));
        }
    }

    #[tokio::test]
    async fn hosts_are_reached_through_the_proxy_and_by_no_name() {
        if !is_blocked() {
            return;
        }
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (mut asked, answer) =
                    ([0; 512], "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
                let _ = stream.read(&mut asked).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        let script = format!(
            r#"python3 - <<'EOF'
import os, socket, urllib.request
proxy = urllib.request.ProxyHandler({{"http": os.environ["HTTP_PROXY"]}})
print(urllib.request.build_opener(proxy).open("http://localhost:{port}/").read().decode())
print(urllib.request.build_opener(urllib.request.ProxyHandler({{}})).open("http://127.0.0.1:{port}/").read().decode())
try: socket.getaddrinfo("host.example", 443)
except OSError as error: print(type(error).__name__)
try: socket.create_connection(("198.18.0.1", 443), 5)
except OSError as error: print(error.errno)
EOF"#
        );
        let (_folder, work) = folder();
        let hosts = HostRules::parse(&[format!("localhost:{port}").as_str(), "host.example"]).expect("rules");
        let program = Confined { hosts, ..shell(Profile::net(), &work, &script) };
        let (printed, _) = run(&Confiner::new(spawner()), &program).await;
        assert_eq!(printed, format!("hello\nhello\ngaierror\n{}\n", libc::ENETUNREACH));
    }

    #[tokio::test]
    async fn what_is_to_be_written_aside_is_written_nowhere() {
        if !is_blocked() {
            return;
        }
        let (folder, work) = folder();
        let aside = Some(Arc::new(Aside::new(folder.path()).expect("a folder")));
        let program = Confined { aside, ..shell(Profile::write(), &work, "echo it ran > file") };
        match Confiner::new(spawner()).start(&program).await {
            Err(ConfineError::Unavailable(missing)) => assert_eq!(missing.layer, Layer::Root),
            other => panic!("{other:?}"),
        }
        assert!(!work.join("file").exists());
    }

    /// What became of a program in a workspace with something to protect.
    #[tokio::test]
    async fn liar() {
        if !is_blocked() || std::env::var_os(BWRAP).is_none() {
            return;
        }
        let (_folder, work) = folder();
        fs::create_dir_all(work.join(".git")).expect("a folder");
        fs::write(work.join(".git/config"), "[core]\n").expect("a file");
        fs::write(work.join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
        let name = std::env::var("TOOLCRIB_TEST_WAIVED").ok();
        let waived: Vec<Layer> = name.and_then(|name| Layer::named(&name)).into_iter().collect();
        let program = Confined { waived, ..shell(Profile::write(), &work, "echo it ran") };
        let said = match Confiner::new(spawner()).start(&program).await {
            Ok(running) => format!("it ran without {:?}", running.without()),
            Err(ConfineError::Unavailable(Unavailable { layer, why })) => {
                format!("missing {}: {why}", layer.name())
            }
            Err(error) => error.to_string(),
        };
        println!("said: {said};");
    }
}

/// What a program says that is to be started by this `bwrap`.
fn said(bwrap: &Path, waived: &str) -> String {
    let mut command =
        blocked(Some(bwrap), &["bwrap::inside::liar", "--exact", "--nocapture", "--test-threads=1"]);
    let output = command.env("TOOLCRIB_TEST_WAIVED", waived).output().expect("python3");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = printed.split("said: ").nth(1).and_then(|said| said.split(";\n").next());
    said.map_or_else(|| format!("{output:?}"), str::to_owned)
}

/// Root's script in place of `bwrap`.
fn script(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("bwrap");
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a file");
    fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("a mode");
    path
}

/// The real one with words before its own, which are changed by a script for `sed`.
fn changed(words: &str, script: &str) -> String {
    format!(
        r#"words=$(mktemp) && sed -z '{script}' < /proc/self/fd/$2 > $words && exec 9< $words && rm $words && shift 2 &&
           exec /usr/bin/bwrap {words} --args 9 "$@""#
    )
}

#[test]
fn nothing_that_bwrap_says_is_believed() {
    if is_blocked() || !rustix::process::getuid().is_root() {
        return;
    }
    let folder = trusted_folder();
    let all =
        "shift 3; exec /usr/bin/bwrap --unshare-user --disable-userns --unshare-all --as-pid-1 --proc /proc";
    let cases = [
        (changed("", ""), "", "it ran without []"),
        ("shift 3; exec \"$@\"".to_owned(), "", "missing pid_namespace: init is not the first"),
        (
            "shift 3; exec /usr/bin/bwrap --dev-bind / / \"$@\"".to_owned(),
            "",
            "missing pid_namespace: init is not",
        ),
        (
            "shift 3; exec /usr/bin/bwrap --unshare-pid --as-pid-1 --dev-bind / / --proc /proc \"$@\""
                .to_owned(),
            "",
            "missing network_namespace: bwrap left init",
        ),
        (format!("{all} --dev-bind / / --proc /proc \"$@\""), "", "missing root: /: the mount is not ro"),
        (format!("{all} --ro-bind / / --proc /proc \"$@\""), "", "missing root: "),
        (changed("", "s/^--unshare-net$/--unshare-ipc/"), "", "missing network_namespace: bwrap left"),
        (changed("", "s/^--unshare-ipc$/--unshare-pid/"), "", "missing ipc_namespace: bwrap left"),
        (changed("", "s/^--unshare-cgroup-try$/--unshare-ipc/"), "", "missing cgroup_namespace: bwrap left"),
        (
            changed("", "s/^--unshare-cgroup-try$/--unshare-ipc/"),
            "cgroup_namespace",
            "it ran without [CgroupNamespace]",
        ),
        (changed("", "s/^--as-pid-1$/--unshare-ipc/"), "", "missing pid_namespace: init is not the first"),
        (changed("", "s/^--disable-userns$/--unshare-ipc/"), "", "missing nested_namespaces: a user"),
        (changed("", "s/^--ro-bind$/--bind/"), "", "missing root: /usr: the mount is not ro"),
        (changed("", "s/^--remount-ro$/--dir/"), "", "missing root: /: the mount is not ro"),
        (changed("--ro-bind /etc /seen", ""), "", "missing root: /seen: nobody ordered this mount"),
        (changed("--cap-add ALL", ""), "", "missing capabilities: bwrap left init the capabilities"),
        (changed("", r"s/^.*\.git\/config$/\/usr\/bin\/env/"), "", "missing protected_paths: "),
        (changed("", r"/\.git\/config$/{N;s/^[^\x00]*/\/etc\/hostname/}"), "", "missing protected_paths: "),
        (changed("", r"s/^536870912$/636870912/"), "", "missing root: /tmp: it is larger"),
        (
            "echo no way >&2; echo more >&2; exit 1".to_owned(),
            "",
            "missing user_namespace: Toolcrib may make none here, and bwrap failed: no way",
        ),
        (
            "exec python3 -c 'import os, time; os.closerange(3, 999); time.sleep(99)'".to_owned(),
            "",
            "missing user_namespace: Toolcrib may make none here, and bwrap failed: it has made no process",
        ),
        (
            "exit 0".to_owned(),
            "",
            "missing user_namespace: Toolcrib may make none here, and bwrap failed: it has made no process",
        ),
    ];
    for (text, waived, expected) in cases {
        let said = said(&script(folder.path(), &text), waived);
        assert!(said.starts_with(expected), "{text}\n{said}");
    }
}

#[test]
fn a_bwrap_that_hangs_is_waited_for_some_seconds_and_ended() {
    if is_blocked() || !rustix::process::getuid().is_root() {
        return;
    }
    let folder = trusted_folder();
    let began = Instant::now();
    let said = said(&script(folder.path(), "sleep 4713 & sleep 4713"), "");
    assert_eq!(
        said,
        "missing user_namespace: Toolcrib may make none here, and bwrap failed: it has made no process in time"
    );
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let is_left = || {
        let lines = fs::read_dir("/proc").expect("proc").flatten();
        lines
            .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
            .any(|line| line == b"sleep\x004713\0")
    };
    while is_left() {
        assert!(began.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_bwrap_that_others_could_have_put_there_is_not_run() {
    if is_blocked() || !rustix::process::getuid().is_root() {
        return;
    }
    let folder = trusted_folder();
    let ran = folder.path().join("ran");
    fs::write(&ran, "").expect("a file");
    fs::set_permissions(&ran, Permissions::from_mode(0o666)).expect("a mode");
    let bwrap = script(folder.path(), &format!("echo it ran > {}", ran.display()));
    let own = "missing user_namespace: Function not implemented (os error 38)";
    let check = |bwrap: &Path, expected: &str| {
        let said = said(bwrap, "");
        assert!(said.starts_with(expected), "{said}");
        assert_eq!(fs::read(&ran).expect("a file").is_empty(), expected == own);
        fs::write(&ran, "").expect("a file");
    };
    check(&bwrap, "missing user_namespace: Toolcrib may make none here, and bwrap failed");
    fs::set_permissions(&bwrap, Permissions::from_mode(0o775)).expect("a mode");
    check(&bwrap, own);
    fs::set_permissions(&bwrap, Permissions::from_mode(0o755)).expect("a mode");
    chown(&bwrap, Some(4242), None).expect("chown");
    check(&bwrap, own);
    chown(&bwrap, Some(0), None).expect("chown");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).expect("a mode");
    check(&bwrap, own);
    check(&folder.path().join("nothing"), own);
}

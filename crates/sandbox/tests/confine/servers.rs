//! Servers: what they find inside, what they keep, and how they end.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use sandbox::confine::{ConfinedServer, Confiner, Limits, Outcome, ServerMay};
use sandbox::egress::HostRules;
use sandbox::{Exit, Program, ProtectedPaths};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::{PATIENCE, folder, spawner};

fn may(workspace: &Path, hosts: &[&str]) -> ServerMay {
    ServerMay {
        read: Vec::new(),
        write: Vec::new(),
        workspaces: vec![workspace.to_owned()],
        sockets: Vec::new(),
        hosts: HostRules::parse(hosts).expect("rules"),
        company: None,
        limits: Limits::default().lasting(),
        protected: ProtectedPaths::default(),
        waived: Vec::new(),
    }
}

fn program(script: &str, words: &[&str], own: &Path) -> Program {
    let args = ["-c", script, "server"].iter().chain(words).map(|&word| word.to_owned()).collect();
    let inherited = std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "HOME").collect();
    Program {
        command: "sh".to_owned(),
        args,
        own_folder: Some(own.to_owned()),
        inherited,
        ..Program::default()
    }
}

/// What it printed, and how it ended.
async fn run(program: &Program, may: &ServerMay) -> (String, Outcome) {
    let server = ConfinedServer::new(program, may).expect("a program");
    let confiner = Confiner::new(spawner());
    let mut running = confiner.start(&server.program).await.unwrap_or_else(|error| panic!("{error}"));
    let mut io = running.take_io().expect("not taken yet");
    drop(io.stdin);
    let mut printed = String::new();
    timeout(PATIENCE, io.stdout.read_to_string(&mut printed)).await.expect("in time").expect("text");
    timeout(PATIENCE, io.stderr.read_to_string(&mut printed)).await.expect("in time").expect("text");
    (printed, timeout(PATIENCE, running.wait()).await.expect("in time"))
}

#[tokio::test]
async fn a_server_has_a_home_that_stays_and_sees_what_it_names() {
    let (_folder, work) = folder();
    let own = work.with_file_name("own");
    let docs = work.with_file_name("docs");
    std::fs::create_dir(&docs).expect("a folder");
    std::fs::write(docs.join("a"), "seen\n").expect("a file");
    std::fs::write(work.with_file_name("other"), "hidden").expect("a file");
    let script = r#"
        cd; test -e kept && cat kept; echo stays > kept; pwd
        cat "$1/a"; echo x > "$1/b" || true
        echo y > "$2/c"; ls "$2"
        test -e "$2/../other" && echo sees another
        true"#;
    let words = [docs.to_str().expect("UTF-8"), work.to_str().expect("UTF-8")];
    for expected in ["/home/agent\nseen\nc\n", "stays\n/home/agent\nseen\nc\n"] {
        let (printed, outcome) = run(&program(script, &words, &own), &may(&work, &[])).await;
        let (said, refused): (Vec<_>, Vec<_>) =
            printed.lines().partition(|line| !line.starts_with("server:"));
        assert_eq!(said.join("\n") + "\n", expected, "{printed}");
        assert!(refused.len() == 1 && refused[0].contains("Read-only"), "{printed}");
        assert_eq!(outcome.exit, Exit::Code(0));
    }
    assert_eq!(std::fs::read_to_string(work.join("c")).expect("written"), "y\n");
    assert!(own.join("kept").exists());
}

#[tokio::test]
async fn a_server_reaches_the_port_that_is_named_and_no_other() {
    let (_folder, work) = folder();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let other = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let closed = other.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"hello from outside\n").await;
        }
    });
    let script = r#"
        python3 - "$1" "$2" <<'EOF'
import socket, sys
for port in sys.argv[1:]:
    try:
        with socket.create_connection(("127.0.0.1", int(port)), 5) as s: print(s.makefile().readline().strip())
    except OSError as error: print(type(error).__name__)
for name in ("nobody.example", "127.0.0.1.nip.example"):
    try: print(socket.getaddrinfo(name, 443)[0][4][0])
    except OSError as error: print(type(error).__name__)
EOF"#;
    let words = [port.to_string(), closed.to_string()];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let may = may(&work, &[&format!("localhost:{port}"), "nobody.example"]);
    let (printed, _) = run(&program(script, &words, &work.with_file_name("own")), &may).await;
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[..2], ["hello from outside", "ConnectionRefusedError"], "{printed}");
    // `bwrap` leaves no name server.
    let found = if super::bwrap::is_blocked() { "gaierror" } else { "198.18." };
    assert!(lines[2].starts_with(found), "{printed}");
    assert_eq!(lines[3..], ["gaierror"], "{printed}");
}

#[tokio::test]
async fn a_connection_to_a_host_that_a_server_names_is_taken_and_judged() {
    let (_folder, work) = folder();
    let script = r#"
        python3 - <<'EOF'
import socket
try:
    with socket.create_connection(("nobody.invalid", 5433), 9) as s: print(s.recv(1))
except OSError as error: print(type(error).__name__)
EOF"#;
    let own = work.with_file_name("own");
    for (word, expected) in [("x", "ConnectionRefusedError\n"), ("db://me:pw@nobody.invalid:5433/x", "b''\n")]
    {
        // `bwrap` leaves no name server.
        let expected = if super::bwrap::is_blocked() { "gaierror\n" } else { expected };
        let (printed, _) = run(&program(script, &[word], &own), &may(&work, &["public"])).await;
        assert_eq!(printed, expected, "{word}");
    }
}

#[tokio::test]
async fn a_connection_at_a_usual_port_is_told_with_host_and_port_while_the_server_lives() {
    let (_folder, work) = folder();
    let script = r#"
        python3 - <<'EOF'
import socket
with socket.create_connection(("localhost", 5432), 9) as s: s.recv(1)
EOF
        read x"#;
    let program = program(script, &[], &work.with_file_name("own"));
    let server = ConfinedServer::new(&program, &may(&work, &["public"])).expect("a program");
    let running = Confiner::new(spawner()).start(&server.program).await.expect("started");
    let mut blocked = running.journal().watch_blocked();
    timeout(PATIENCE, blocked.wait_for(|count| *count > 0)).await.expect("in time").expect("it lives");
    let told: Vec<_> = running.journal().blocked().iter().map(ToString::to_string).collect();
    assert_eq!(told, ["connect localhost:5432 (no rule allows it)"]);
}

#[tokio::test]
async fn a_server_runs_from_a_folder_that_is_closed_to_others() {
    let (_folder, work) = folder();
    let private = work.with_file_name("private");
    std::fs::create_dir(&private).expect("a folder");
    let script = private.join("server");
    std::fs::write(&script, "#!/bin/sh\necho it runs\n").expect("a file");
    std::fs::set_permissions(&script, Permissions::from_mode(0o700)).expect("a mode");
    std::fs::set_permissions(&private, Permissions::from_mode(0o700)).expect("a mode");
    let program =
        Program { command: script.display().to_string(), args: Vec::new(), ..program("", &[], &work) };
    // Something in it is hidden, besides.
    let protected = ProtectedPaths { unread: vec![private.join("secret")], ..ProtectedPaths::default() };
    std::fs::write(private.join("secret"), "").expect("a file");
    let (printed, _) = run(&program, &ServerMay { protected, ..may(&work, &[]) }).await;
    assert_eq!(printed, "it runs\n");
}

#[tokio::test]
async fn a_server_that_is_dismissed_leaves_by_itself_if_it_can() {
    let (_folder, work) = folder();
    let confiner = Confiner::new(spawner());
    for (script, expected) in [
        ("read x; exit 7", Exit::Code(7)),
        ("trap 'exit 8' TERM; echo ready; while :; do sleep 0.1; done", Exit::Code(8)),
        ("trap '' TERM; echo ready; while :; do sleep 0.1; done", Exit::Signal(9)),
    ] {
        let program = program(script, &[], &work.with_file_name("own"));
        let server = ConfinedServer::new(&program, &may(&work, &[])).expect("a program");
        let mut running = confiner.start(&server.program).await.expect("started");
        let mut io = running.take_io().expect("not taken yet");
        if script.contains("ready") {
            let mut ready = [0; 6];
            timeout(PATIENCE, io.stdout.read_exact(&mut ready)).await.expect("in time").expect("ready");
        }
        drop(io.stdin);
        let ended = timeout(PATIENCE, running.dismiss()).await.expect("in time");
        assert_eq!(ended.exit, expected, "{script}");
    }
}

/// What a program says of a socket at its path.
const KNOCK: &str = r#"
for at in "$@"; do
    python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$at" 2> /dev/null \
        && echo connected || echo refused
done"#;

#[tokio::test]
async fn no_socket_in_a_folder_that_a_server_sees_is_connected_to_unless_it_is_named() {
    let (_folder, work) = folder();
    let own = work.with_file_name("own");
    let read = work.with_file_name("read");
    std::fs::create_dir_all(read.join("deep/er")).expect("folders");
    let sockets = [work.join("a"), read.join("b"), read.join("deep/er/c"), read.join("named")];
    let listeners = sockets.each_ref().map(|at| UnixListener::bind(at).expect("a socket"));
    for (at, listener) in sockets.iter().zip(&listeners) {
        // As a server runs as another user, everybody may.
        std::fs::set_permissions(at, Permissions::from_mode(0o777)).expect("ours");
        UnixStream::connect(at).expect("outside it succeeds");
        listener.accept().expect("somebody has come");
    }
    let words = [&work, &read].map(|folder| folder.to_str().expect("UTF-8"));
    let script =
        format!("ls \"$2\" | tr '\\n' ' '; set \"$1/a\" \"$2/b\" \"$2/deep/er/c\" \"$2/named\"; {KNOCK}");
    let may = ServerMay {
        read: vec![read.clone()],
        sockets: vec![sockets[3].clone()],
        workspaces: vec![work.clone()],
        ..may(&work, &[])
    };
    let (printed, _) = run(&program(&script, &words, &own), &may).await;
    assert_eq!(printed, "b deep named refused\nrefused\nrefused\nconnected\n");
    // One that nobody serves any more is the server's to make anew.
    drop(listeners);
    let script = "rm \"$1/a\" && python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' \"$1/a\" && echo made";
    let (printed, _) = run(&program(script, &words, &own), &may).await;
    assert_eq!(printed, "made\n");
}

#[tokio::test]
async fn a_server_that_reads_etc_asks_our_name_server_all_the_same() {
    // There is no name server of ours, and all of `/etc` is not shown.
    if super::bwrap::is_blocked() {
        return;
    }
    let (_folder, work) = folder();
    let own = work.with_file_name("own");
    let machines = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    for read in ["/etc", "/etc/resolv.conf"] {
        let may = ServerMay { read: vec![read.into()], ..may(&work, &["public"]) };
        let (printed, _) =
            run(&program("cat /etc/resolv.conf; getent hosts a.example", &[], &own), &may).await;
        assert!(printed.contains("198.18.0."), "{read}: {printed}");
        assert!(machines.is_empty() || !printed.contains(&machines), "{read}: {printed}");
    }
}

//! Programs at a terminal: it is their own, it controls them, and it leads nowhere else.

use sandbox::Exit;
use sandbox::confine::{Confined, Confiner, Profile, Streams};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::{PATIENCE, folder, run, shell, spawner};

/// Asks for what would type for others, or have code loaded: TIOCSTI, TIOCSETD, TIOCLINUX, TIOCCONS; and for the other end.
const ASK: &str = "python3 -c '
import fcntl
for request in (0x5412, 0x5423, 0x541c, 0x541d, 0x5441):
    try: fcntl.ioctl(0, request, b\"x\\0\\0\\0\") ; print(hex(request))
    except OSError as e: print(e.errno, end=\" \")
'";

#[tokio::test]
async fn a_terminal_is_the_programs_own_and_leads_nowhere() {
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    // The other end is refused by what a terminal is: this end has none to give.
    let (not_permitted, not_its) = (libc::EPERM, libc::EIO);
    let refused = format!("{0} {0} {0} {0} {not_its} ", not_permitted);
    for (script, printed) in [
        ("test -t 0 && test -t 1 && test -t 2 && stty size", "24 80\r\n"),
        ("echo out; echo err >&2; echo again", "out\r\nerr\r\nagain\r\n"),
        ("cut -d' ' -f7 /proc/self/stat | grep -vx 0 | wc -l", "1\r\n"),
        // It has a name, and the one for prompts; the other end has none, nor has any other terminal.
        (
            "test $(tty) = /dev/pts/$(ls /dev/pts) && echo there >$(tty) && echo too >/dev/tty",
            "there\r\ntoo\r\n",
        ),
        ("ls /dev/ptmx /dev/pts/ptmx 2>/dev/null | wc -l", "0\r\n"),
        ("setsid sh -c 'echo up >/dev/tty' 2>/dev/null || echo none", "none\r\n"),
        ("ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 "),
        (ASK, &refused),
        ("exit 7", ""),
    ] {
        let program = Confined { streams: Streams::Terminal, ..shell(Profile::shell(), &work, script) };
        let (found, outcome) = run(&confiner, &program).await;
        assert_eq!(found, printed, "{script}");
        let expected = if script == "exit 7" { 7 } else { 0 };
        assert_eq!((outcome.exit, outcome.without), (Exit::Code(expected), vec![]), "{script}");
    }
}

#[tokio::test]
async fn all_that_is_printed_on_a_terminal_arrives() {
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    let script = "stty -onlcr; head -c 20000000 /dev/zero | tr '\\0' x; echo end";
    let program = Confined { streams: Streams::Terminal, ..shell(Profile::shell(), &work, script) };
    let (found, _) = run(&confiner, &program).await;
    assert_eq!((found.len(), &found[found.len() - 5..]), (20_000_004, "xend\n"));
}

#[tokio::test]
async fn what_is_typed_is_read_and_keys_that_control_do() {
    let confiner = Confiner::new(spawner());
    let (_folder, work) = folder();
    for (script, typed, printed, exit) in [
        ("echo up; read x; echo \"<$x>\"", "hello\n", "up\r\nhello\r\n<hello>\r\n", Exit::Code(0)),
        ("echo up; exec sleep 1000", "\u{3}", "up\r\n^C", Exit::Signal(libc::SIGINT)),
        ("echo up; exec cat", "\u{4}", "up\r\n", Exit::Code(0)),
        ("echo up; read x </dev/tty; echo \"<$x>\"", "hello\n", "up\r\nhello\r\n<hello>\r\n", Exit::Code(0)),
    ] {
        let program = Confined { streams: Streams::Terminal, ..shell(Profile::shell(), &work, script) };
        let mut running = confiner.start(&program).await.expect("it starts");
        let mut io = running.take_io().expect("not taken yet");
        let mut found = String::new();
        let mut buffer = [0; 64];
        while !found.contains("up") {
            let bytes = timeout(PATIENCE, io.stdout.read(&mut buffer)).await.expect("in time").expect("read");
            found.push_str(&String::from_utf8_lossy(&buffer[..bytes]));
        }
        io.stdin.write_all(typed.as_bytes()).await.expect("written");
        timeout(PATIENCE, io.stdout.read_to_string(&mut found)).await.expect("in time").expect("text");
        // Our end stays until then: a program whose terminal goes away is hung up, also one that has closed it and is about to end.
        let outcome = timeout(PATIENCE, running.wait()).await.expect("in time");
        drop(io);
        assert_eq!((found.as_str(), outcome.exit), (printed, exit), "{script}");
    }
}

//! The channel over real sockets: what is answered, what is refused, what disturbs nobody.
#![expect(clippy::disallowed_methods, reason = "the configuration that is read, and what stands in the way")]

mod operations;
mod taken_up;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use admin::{Answered, Refused, Reloaded, Toolcrib};
use config::{self, Surroundings, Unfollowed};
use expect_test::expect;
use gate::{Call, Caller, Via};
use serde_json::{Value, json};
use server::Workspaces as _;
use server::identity::Identity;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::client::ask;
use super::folder::Folder;
use super::words::Request;
use super::*;
use crate::assemble::{Crib, identity};
use crate::named_workspaces::NamedWorkspaces;
use crate::upstreams::Start;
use crate::upstreams::tests::small_server::SmallServer;

/// What every wait for an outcome is given; only a failing test needs it.
const PATIENCE: Duration = Duration::from_secs(20);

/// A Toolcrib that serves nobody and can be asked.
struct Process {
    folder: tempfile::TempDir,
    crib: Arc<Crib>,
    named_workspaces: Arc<NamedWorkspaces>,
    identity: Arc<Identity>,
    control: Control,
}

impl Process {
    /// One whose configuration says this beside where its folders are.
    async fn start(folder: tempfile::TempDir, text: &str) -> Process {
        std::fs::create_dir(folder.path().join("ws")).expect("a folder");
        let file = write(folder.path(), text);
        let surroundings = surroundings(folder.path());
        let loaded = config::load(Some(&file), &surroundings, Unfollowed::FailsItsServer)
            .expect("a sound configuration");
        let identity = identity(&loaded.settings);
        identity.served_at("http", ([127, 0, 0, 1], 3000).into());
        let reloader = Reloader::assembled(loaded, Some(file), Start::WhenWanted).expect("an assembly");
        reloader.govern_also(&identity);
        let (crib, named_workspaces) = (reloader.crib().clone(), reloader.named_workspaces().clone());
        let desk = Desk::new("stdio", reloader);
        let control = Control::open(&crib.shared.state, desk, Opening::AtOnce).await;
        Process { folder, crib, named_workspaces, identity, control }
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn path(&self) -> PathBuf {
        self.state().join(format!("run/{}.sock", std::process::id()))
    }

    async fn end(self) {
        self.control.close().await;
        self.named_workspaces.end().await;
        self.crib.close().await;
    }

    /// What comes back for these bytes, until the other side hangs up.
    async fn ask(&self, bytes: &[u8]) -> String {
        let mut stream = UnixStream::connect(self.path()).await.expect("it listens");
        // It may hang up before it has read everything.
        let _ = stream.write_all(bytes).await;
        let mut answer = Vec::new();
        let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("in time");
        drop(read);
        String::from_utf8(answer).expect("UTF-8")
    }
}

/// A home in that folder, and nothing else.
fn surroundings(folder: &Path) -> Surroundings {
    Surroundings::new("/".into(), [("HOME".into(), folder.into())].into(), config::Flags::default())
}

/// Writes the configuration, and says where.
fn write(folder: &Path, text: &str) -> PathBuf {
    let file = folder.join("toolcrib.toml");
    let common = "[workspace]\nroot = \"ws\"\n[state]\ndir = \"state\"\n";
    std::fs::write(&file, format!("{common}{text}")).expect("a file");
    file
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

async fn running(state: &Path) -> Vec<Answered<Toolcrib>> {
    ask(state, &Request::Status).await
}

async fn reload(state: &Path) -> Vec<Answered<Reloaded>> {
    ask(state, &Request::Reload).await
}

fn run<T>(work: impl Future<Output = T>) -> T {
    terminal::runtime::run(work).expect("a runtime")
}

#[test]
fn requests_are_answered_and_garbage_is_not() {
    run(async {
        let text = "[mcp.off]\ncommand = \"x\"\nenabled = false\n";
        let process = Process::start(folder(), text).await;
        let status: Value = serde_json::from_str(&process.ask(b"{\"do\":\"status\"}\n").await).expect("JSON");
        assert_eq!(status[0]["ok"]["door"], "stdio");
        assert_eq!(status[0]["ok"]["pid"], std::process::id());
        assert_eq!(status[0]["ok"]["upstreams"][0]["state"], json!({ "status": "disabled" }));
        let unknown = "[{\"error\":\"this is none of the questions that it knows\"}]\n";
        let long = format!("{{\"do\":\"{}\"}}\n", "x".repeat(super::words::REQUEST_BYTES_MAX));
        for (bytes, expected) in [
            (&b"GET / HTTP/1.1\r\n\r\n"[..], unknown),
            (b"{\"do\":\"shutdown\"}\n", unknown),
            (b"\xff\xfe\n", unknown),
            (b"\n\n{\"do\":\"stderr\",\"name\":\"off\"}\n", "[{\"ok\":\"\"}]\n"),
            (b"{\"do\":\"stderr\",\"name\":\"x\"}\n", "[{\"error\":\"it has no server `x`\"}]\n"),
            (
                b"{\"do\":\"reconnect\",\"name\":\"off\"}\n",
                "[{\"error\":\"its server `off` is disabled\"}]\n",
            ),
            (long.as_bytes(), ""),
        ] {
            assert_eq!(process.ask(bytes).await, expected, "{:?}", String::from_utf8_lossy(bytes));
        }
        drop(UnixStream::connect(process.path()).await.expect("it listens"));
        assert_eq!(running(&process.state()).await.len(), 1, "it is as well as before");
        process.end().await;
    });
}

#[test]
fn the_socket_is_its_owners_and_goes_with_the_process() {
    run(async {
        let process = Process::start(folder(), "").await;
        let mode = |path: &Path| path.symlink_metadata().expect("it is there").permissions().mode() & 0o777;
        assert_eq!(mode(&process.path()), 0o600);
        assert_eq!(mode(process.path().parent().expect("a folder")), 0o700);
        let path = process.path();
        process.end().await;
        assert!(!path.exists());
    });
}

#[test]
fn a_process_that_cannot_listen_serves_all_the_same() {
    run(async {
        let folder = folder();
        std::fs::create_dir(folder.path().join("state")).expect("a folder");
        std::fs::write(folder.path().join("state/run"), "in the way").expect("a file");
        let process = Process::start(folder, "").await;
        assert_eq!(running(&process.state()).await, []);
        process.end().await;
    });
}

#[test]
fn dead_processes_are_passed_over_and_their_sockets_removed() {
    run(async {
        let process = Process::start(folder(), "").await;
        let folder = Folder::open(&process.state()).expect("it is there");
        // More than the system gives to a process.
        let dead = 1 << 30;
        drop(tokio::net::UnixListener::bind(folder.socket(dead)).expect("free"));
        let said: Vec<u32> = running(&process.state()).await.iter().map(|one| one.pid).collect();
        assert_eq!(said, [std::process::id()]);
        assert_eq!(folder.pids().expect("readable"), [std::process::id()]);
        process.end().await;
    });
}

/// The clock is paused: the time that a silent process is given passes at once.
#[tokio::test(start_paused = true)]
async fn a_process_that_does_not_answer_is_said_to_be_silent() {
    let state = folder();
    let folder = Folder::make(state.path()).expect("made");
    let _silent = tokio::net::UnixListener::bind(folder.socket(1)).expect("free");
    let begin = tokio::time::Instant::now();
    let asked = reload(state.path()).await;
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
    assert_eq!(asked.len(), 1);
    let refused = asked[0].answer.as_ref().expect_err("silent").to_string();
    assert!(refused.starts_with("it does not answer"), "{refused}");
}

#[test]
fn one_too_many_is_told_to_come_again() {
    run(async {
        let process = Process::start(folder(), "").await;
        let mut silent = Vec::new();
        for _ in 0..32 {
            silent.push(UnixStream::connect(process.path()).await.expect("it listens"));
        }
        let asked = running(&process.state()).await;
        let refused = asked[0].answer.as_ref().expect_err("one too many").to_string();
        assert_eq!(refused, "too many others ask at the same time; try again");
        process.end().await;
    });
}

#[test]
fn a_reload_exchanges_what_changed_and_says_so() {
    run(async {
        let folder = folder();
        let (one, two) = (SmallServer::new(folder.path(), "one"), SmallServer::new(folder.path(), "two"));
        let table = |name: &str, server: &SmallServer| {
            format!("[mcp.{name}]\nsocket = {:?}\n", server.path().display().to_string())
        };
        let process = Process::start(folder, &table("one", &one)).await;
        process.crib.gate.catalog().settled().await;
        let text = format!("{}{}[log]\nlevel = \"debug\"\n", table("one", &one), table("two", &two));
        write(process.folder.path(), &text);
        let asked = reload(&process.state()).await;
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let expected = Reloaded {
            added: names(&["two"]),
            unchanged: names(&["one"]),
            next_start: names(&["[log]"]),
            ..Reloaded::default()
        };
        assert_eq!(asked, [Answered { pid: std::process::id(), answer: Ok(expected) }]);
        // Somebody has asked for lists, so it is connected to at once.
        let mut two = process.crib.upstreams.get("two").expect("it is there").offers();
        let connected = two.wait_for(|offer| matches!(offer.state, upstream::State::Connected { .. }));
        tokio::time::timeout(PATIENCE, connected).await.expect("in time").expect("it lives");
        let now = running(&process.state()).await;
        let servers = &now[0].answer.as_ref().expect("it says so").upstreams;
        assert_eq!(servers[1].state.status, "connected", "{servers:?}");

        // What is wrong changes nothing, and all of it is said.
        write(process.folder.path(), "[mcp.two]\nsokcet = \"x\"\n[log]\nlevel = \"louder\"\n");
        let asked = reload(&process.state()).await;
        let Err(Refused::Problems(problems)) = &asked[0].answer else { panic!("{asked:?}") };
        let shown = problems.join("\n").replace(&process.folder.path().display().to_string(), "DIR");
        expect![[r#"
            DIR/toolcrib.toml:6:1: unknown key `sokcet` in [mcp.two]; did you mean `socket`?
            DIR/toolcrib.toml:8:9: log.level must be one of "off", "error", "warn", "info", "debug", "trace""#]].assert_eq(&shown);
        assert_eq!(process.crib.upstreams.iter().count(), 2);

        write(process.folder.path(), "");
        let asked = reload(&process.state()).await;
        assert_eq!(asked[0].answer.as_ref().expect("sound").removed, names(&["one", "two"]));
        process.end().await;
    });
}

#[test]
fn a_pipe_in_place_of_a_secret_holds_nobody_up() {
    run(async {
        let process = Process::start(folder(), "").await;
        let pipe = process.folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).expect("a pipe");
        let table = "[mcp.web]\nurl = \"http://127.0.0.1:1/mcp\"\nheaders = { X = \"${file:pipe}\" }\n";
        write(process.folder.path(), table);
        let asked = reload(&process.state()).await;
        let refused = asked[0].answer.as_ref().expect_err("it cannot be read").to_string();
        assert!(refused.ends_with("pipe cannot be read: it is no regular file"), "{refused}");
        write(process.folder.path(), "");
        assert!(reload(&process.state()).await[0].answer.is_ok(), "the next one has its turn");
        process.end().await;
    });
}

#[test]
fn a_program_that_a_reload_adds_is_not_written_by_tools() {
    run(async {
        let process = Process::start(folder(), "[policy]\nallow = [\"workspace_*\"]\n").await;
        let script = process.folder.path().join("ws/server.py");
        std::fs::write(&script, "old").expect("a file");
        let write_it = async || {
            let arguments = json!({ "path": "server.py", "content": "new" }).to_string();
            let call = Call::tool("workspace_write", Some(arguments.into()));
            process.crib.gate.call(&Caller::local_user(Via::CommandLine), call).await
        };
        assert!(write_it().await.is_ok(), "it is a file like others");
        let table = format!("[mcp.it]\ncommand = {:?}\non_demand = true\n", script.display().to_string());
        write(process.folder.path(), &format!("[policy]\nallow = [\"workspace_*\"]\n{table}"));
        assert!(reload(&process.state()).await[0].answer.is_ok());
        let refused = write_it().await.expect_err("it is a program now").to_string();
        assert!(refused.contains("server.py"), "{refused}");
        process.end().await;
    });
}

#[test]
fn connecting_anew_is_asked_of_every_process() {
    run(async {
        let folder = folder();
        let one = SmallServer::new(folder.path(), "one");
        let text = format!("[mcp.one]\nsocket = {:?}\n", one.path().display().to_string());
        let process = Process::start(folder, &text).await;
        let reconnect = |state: PathBuf, name: &str| {
            let request = Request::Reconnect { name: name.to_owned() };
            async move { ask::<Value>(&state, &request).await }
        };
        let asked = reconnect(process.state(), "one").await;
        assert_eq!(asked[0].answer.as_ref().expect("it is there")["state"]["status"], "connected");
        let stderr = Request::Stderr { name: "one".to_owned() };
        assert_eq!(ask::<String>(&process.state(), &stderr).await[0].answer.as_deref(), Ok(""));
        let asked = reconnect(process.state(), "two").await;
        assert_eq!(asked[0].answer.as_ref().expect_err("not there").to_string(), "it has no server `two`");
        let nobody = tempfile::tempdir().expect("a folder");
        assert_eq!(reconnect(nobody.path().to_owned(), "one").await, []);
        process.end().await;
    });
}

/// A server that each workspace has to itself, as one with `${workspace}`, is one server to whoever decides about it.
#[test]
fn servers_of_every_workspace_are_told_and_hear_of_decisions() {
    run(async {
        let folder = folder();
        std::fs::create_dir(folder.path().join("docs")).expect("a folder");
        let [own, shared] = ["own", "shared"].map(|name| SmallServer::offering(folder.path(), name, name));
        let table = |name: &str, server: &SmallServer| {
            format!("[mcp.{name}]\nprefix = \"\"\nsocket = {:?}\n", server.path().display().to_string())
        };
        let text = format!(
            "{}isolation = \"session\"\n{}[workspaces.docs]\nroot = \"docs\"\n",
            table("own", &own),
            table("shared", &shared)
        );
        let process = Process::start(folder, &text).await;
        let told = async || {
            let running = running(&process.state()).await;
            let all = running[0].answer.clone().expect("it says so").upstreams;
            let told = all.iter().map(|one| &one.facts);
            told.map(|one| json!([one.name, one.workspace, one.held_back])).collect::<Vec<_>>()
        };
        process.crib.gate.catalog().settled().await;
        assert_eq!(told().await, [json!(["own", null, 0]), json!(["shared", null, 0])]);
        assert!(process.named_workspaces.open("docs").is_ok_and(|open| open.is_some()));
        let docs = || process.named_workspaces.upstreams().into_iter().map(|(_, upstream)| upstream);
        for upstream in docs() {
            let mut offers = upstream.offers();
            let connected = offers.wait_for(|offer| !offer.tools.is_empty());
            tokio::time::timeout(PATIENCE, connected).await.expect("in time").expect("it lives");
        }
        let all = [json!(["own", null, 0]), json!(["shared", null, 0]), json!(["own", "docs", 0])];
        assert_eq!(told().await, all, "one that they share stands there once");
        let input = json!({ "server": "own", "reject": ["own"] });
        let request = json!({ "do": "operate", "operation": "trust.decide", "input": input });
        let decided = process.ask(format!("{request}\n").as_bytes()).await;
        assert!(decided.contains("\"ok\":true"), "{decided}");
        for upstream in docs().chain(process.crib.upstreams.iter()) {
            let tools = upstream.offers().borrow().tools.len();
            assert_eq!(tools, usize::from(upstream.name() == "shared"), "{}", upstream.name());
        }
        let accept = json!({ "server": "own", "accept": ["own"] });
        let request = json!({ "do": "operate", "operation": "trust.decide", "input": accept });
        let refused = process.ask(format!("{request}\n").as_bytes()).await;
        assert!(refused.contains("not_a_person"), "{refused}");
        process.end().await;
    });
}

//! The door on a Unix socket: both eras on one connection, several clients, and the end.
#![expect(clippy::disallowed_methods, reason = "the tests stand in for clients")]

use std::path::Path;
use std::time::Duration;

use server::{Server, unix};
use testkit::SampleGate;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::time::timeout;

const MODERN: &str = r#"{"jsonrpc":"2.0","id":"m","method":"tools/call","params":{"name":"shout","arguments":{"text":"hello"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"shout","arguments":{"text":"hello"}}}"#;

struct Client(BufReader<UnixStream>);

impl Client {
    async fn connect(path: &Path) -> Client {
        Client(BufReader::new(UnixStream::connect(path).await.expect("it listens")))
    }

    /// Sends a line; gives the next one, or nothing at the end.
    async fn ask(&mut self, line: &str) -> String {
        self.0.get_mut().write_all(format!("{line}\n").as_bytes()).await.expect("it reads");
        self.next().await
    }

    async fn next(&mut self) -> String {
        let mut line = String::new();
        let read = timeout(Duration::from_secs(20), self.0.read_line(&mut line)).await;
        read.expect("in time").expect("it writes");
        line
    }
}

#[tokio::test]
async fn lines_are_answered_as_on_stdio() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("sock");
    let gate = SampleGate::new();
    let server = Server::new(gate.gate.clone(), server::Instructions::default());
    let socket = unix::bind(&path).await.expect("free");
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(unix::serve(server, socket, async { drop(stopped.await) }));

    let (mut one, mut other) = (Client::connect(&path).await, Client::connect(&path).await);
    let answer = one.ask(MODERN).await;
    assert!(
        answer.contains(r#""id":"m""#) && answer.contains("HELLO") && answer.contains("resultType"),
        "{answer}"
    );
    assert!(other.ask(INITIALIZE).await.contains("2025-06-18"));
    let answer = other.ask(CALL).await;
    assert!(answer.contains("HELLO") && !answer.contains("resultType"), "{answer}");
    // Neither era locks a connection.
    assert!(one.ask(INITIALIZE).await.contains("2025-06-18"));
    assert!(one.ask("nonsense").await.contains("-32700"));
    drop(one);
    assert!(other.ask(CALL).await.contains("HELLO"), "a client that leaves disturbs nobody");

    stop.send(()).expect("it serves");
    assert_eq!(other.next().await, "", "its connection ends");
    timeout(Duration::from_secs(20), serving).await.expect("in time").expect("in peace");
    assert!(!path.exists(), "the file is gone");
}

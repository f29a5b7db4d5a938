//! One client on one connection, in both eras.

use std::time::Duration;

use gate::Features;
use testkit::{SampleGate, offer_sample_source};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines as ReadLines};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::*;

/// Long enough for anything that happens at all.
const WAIT_MAX: Duration = Duration::from_secs(30);

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

struct Client {
    writer: OwnedWriteHalf,
    reader: ReadLines<BufReader<OwnedReadHalf>>,
    door: JoinHandle<std::io::Result<()>>,
    server: Arc<Server>,
    _sample: SampleGate,
}

impl Client {
    fn new() -> Client {
        let sample = SampleGate::new();
        offer_sample_source(sample.gate.catalog());
        let server = Server::new(sample.gate.clone(), crate::Instructions::default());
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        let door = tokio::spawn(serve_connection(server.clone(), theirs));
        let (reader, writer) = ours.into_split();
        Client { writer, reader: BufReader::new(reader).lines(), door, server, _sample: sample }
    }

    async fn say(&mut self, lines: &[String]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        self.writer.write_all(text.as_bytes()).await.expect("the door reads");
    }

    /// The next line says all of this.
    #[track_caller]
    fn hears<'a>(&'a mut self, parts: &'a [&'a str]) -> impl Future<Output = ()> + 'a {
        let caller = std::panic::Location::caller();
        async move {
            let line = tokio::time::timeout(WAIT_MAX, self.reader.next_line()).await;
            let line = line.unwrap_or_else(|_| panic!("{caller}: nothing came, not {parts:?}"));
            let line = line.expect("readable").unwrap_or_else(|| panic!("{caller}: the end came"));
            assert!(
                parts.iter().all(|part| line.contains(part)),
                "{caller}: {line} says not all of {parts:?}"
            );
        }
    }

    /// The door ends within a moment, and says nothing more.
    async fn ends(mut self) {
        let ended = tokio::time::timeout(WAIT_MAX, self.door).await.expect("it ends").expect("in peace");
        ended.expect("without a fault");
        assert_eq!(self.reader.next_line().await.expect("readable"), None);
    }
}

fn old(id: u32, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#)
}

fn new(id: u32, method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    old(id, method, &format!("{META}{comma}{params}"))
}

const HELLO: &str = r#""protocolVersion":"2025-11-25","capabilities":{"roots":{}}"#;

#[tokio::test]
async fn both_eras_share_one_connection() {
    let mut client = Client::new();
    client
        .say(&[
            new(1, "server/discover", ""),
            old(2, "initialize", HELLO),
            new(3, "tools/call", r#""name":"shout","arguments":{"text":"a"}"#),
            old(4, "tools/call", r#""name":"shout","arguments":{"text":"b"}"#),
            new(5, "ping", ""),
            old(6, "ping", ""),
        ])
        .await;
    client.hears(&[r#""id":1,"#, "supportedVersions"]).await;
    client.hears(&[r#""id":2,"#, r#""protocolVersion":"2025-11-25""#]).await;
    client.hears(&[r#""id":3,"#, r#""resultType":"complete""#, r#""text":"A""#]).await;
    client.hears(&[r#""id":4,"result":{"content""#, r#""text":"B""#]).await;
    client.hears(&[r#""id":5,"#, "-32601"]).await;
    client.hears(&[r#""id":6,"result":{}"#]).await;
    drop(client.writer.shutdown().await);
    client.ends().await;
}

#[tokio::test]
async fn a_client_is_asked_and_told_on_its_own_connection() {
    let mut client = Client::new();
    client.say(&[old(1, "initialize", HELLO), old(2, "tools/list", "")]).await;
    client.hears(&[r#""id":1,"#]).await;
    client.hears(&[r#""id":2,"#, r#""name":"ask""#]).await;
    let ask = r#""name":"ask","arguments":{"requests":{"k":{"method":"roots/list"}}}"#;
    client.say(&[old(3, "tools/call", ask)]).await;
    client.hears(&[r#""id":1,"method":"roots/list""#]).await;
    client.say(&[r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#.to_owned()]).await;
    client.hears(&[r#""id":3,"#, r#"{\"k\":{\"roots\":[]}}"#]).await;
    client.server.gate().catalog().replace("more", testkit::many_tools(1), Features::default());
    client.hears(&["notifications/tools/list_changed"]).await;
    drop(client.writer.shutdown().await);
    client.ends().await;
}

#[tokio::test]
async fn subscriptions_hold_up_neither_side_at_the_end() {
    let listen = |id| new(id, "subscriptions/listen", r#""notifications":{"toolsListChanged":true}"#);
    let mut client = Client::new();
    client.say(&[listen(1), listen(2)]).await;
    client.hears(&["acknowledged", r#"subscriptionId":1"#]).await;
    client.hears(&["acknowledged", r#"subscriptionId":2"#]).await;
    client.server.gate().catalog().replace("more", testkit::many_tools(1), Features::default());
    for _ in 0..2 {
        client.hears(&["notifications/tools/list_changed", "subscriptionId"]).await;
    }
    client
        .say(&[r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#.to_owned()])
        .await;
    client.say(&[old(3, "ping", "")]).await;
    client.hears(&[r#""id":3,"#]).await;
    // The doors close: what is still open is told so.
    client.server.stopping.cancel();
    client.hears(&[r#""id":2,"result":{"resultType":"complete""#]).await;
    client.ends().await;

    let mut client = Client::new();
    client.say(&[listen(1)]).await;
    client.hears(&["acknowledged"]).await;
    // By a clock that moves only when everybody waits.
    tokio::time::pause();
    let since = Instant::now();
    drop(client.writer.shutdown().await);
    client.ends().await;
    assert!(since.elapsed() < DRAIN_MAX, "a subscription is not waited for: {:?}", since.elapsed());
}

/// What a client is asked once it is ready, and what it answers.
#[derive(Default)]
struct Asked(std::sync::Mutex<Option<String>>);

impl Greeting for Asked {
    fn requests(&self) -> Option<bytes::Bytes> {
        Some(
            br#"{"k":{"method":"elicitation/create","params":{"message":"may it?","requestedSchema":{}}}}"#
                .as_slice()
                .into(),
        )
    }

    fn answered(&self, responses: bytes::Bytes) -> BoxFuture<'_, ()> {
        *self.0.lock().expect("nothing panics") = Some(String::from_utf8_lossy(&responses).into_owned());
        Box::pin(async {})
    }
}

/// A client with these capabilities, and whether it is asked; `answer` is what it says then.
async fn check_greeted(capabilities: &str, ready: &str, answer: Option<&str>) {
    let asked = Arc::new(Asked::default());
    let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
    let sample = SampleGate::new();
    let server = Server::new(sample.gate.clone(), crate::Instructions::default());
    let (reader, writer) = theirs.into_split();
    let (input, output) = (Input::Stream(Box::new(reader)), Output::connection(writer));
    let door = tokio::spawn(converse(server.clone(), (Via::Stdio, None), Some(asked.clone()), input, output));
    let (reader, writer) = ours.into_split();
    let mut client = Client { writer, reader: BufReader::new(reader).lines(), door, server, _sample: sample };
    let hello = format!(r#""protocolVersion":"2025-11-25","capabilities":{capabilities}"#);
    client.say(&[old(1, "initialize", &hello)]).await;
    client.hears(&[r#""id":1"#]).await;
    client.say(&[ready.to_owned()]).await;
    if let Some(answer) = answer {
        client.hears(&["elicitation/create", "may it?", r#""id":1"#]).await;
        // Its own calls go on meanwhile.
        client.say(&[old(2, "ping", "")]).await;
        client.hears(&[r#""id":2"#]).await;
        client.say(&[format!(r#"{{"jsonrpc":"2.0","id":1,"result":{answer}}}"#)]).await;
    }
    client.say(&[old(3, "ping", "")]).await;
    client.hears(&[r#""id":3"#]).await;
    client.writer.shutdown().await.expect("closed");
    let expected = answer.map(|answer| format!(r#"{{"k":{answer}}}"#));
    client.ends().await;
    assert_eq!(*asked.0.lock().expect("nothing panics"), expected, "{capabilities} {ready}");
}

#[tokio::test]
async fn a_person_is_asked_once_their_client_is_ready() {
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    check_greeted(r#"{"elicitation":{}}"#, ready, Some(r#"{"action":"accept","content":{"a":true}}"#)).await;
    check_greeted(r#"{"elicitation":{}}"#, r#"{"jsonrpc":"2.0","method":"notifications/other"}"#, None).await;
    check_greeted("{}", ready, None).await;
    check_greeted(r#"{"elicitation":{"url":{}}}"#, ready, None).await;
}

/// A client of another process, whose ends came from there: pipes in one case, one socket in the other.
struct Elsewhere {
    client: UnixStream,
    stopping: Cancel,
    door: JoinHandle<std::io::Result<()>>,
}

fn handed_over(server: &Arc<Server>) -> Elsewhere {
    let (client, ours) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
    client.set_nonblocking(true).expect("it is ours");
    let ends = HandedOver {
        stdin: ours.try_clone().expect("another descriptor").into(),
        stdout: ours.into(),
        from: Vec::new(),
    };
    assert!(is_stream(&ends.stdin));
    let (server, stopping) = (server.clone(), Cancel::new());
    let stop = stopping.clone();
    let door = tokio::spawn(async move { serve_handed_over(&server, ends, None, stop).await });
    Elsewhere { client: UnixStream::from_std(client).expect("a socket"), stopping, door }
}

#[tokio::test]
async fn clients_that_were_handed_over_end_one_by_one() {
    let sample = SampleGate::new();
    let server = Server::new(sample.gate.clone(), crate::Instructions::default());
    let (first, second) = (handed_over(&server), handed_over(&server));
    first.stopping.cancel();
    tokio::time::timeout(WAIT_MAX, first.door).await.expect("it ends").expect("no panic").expect("in peace");
    let (reader, mut writer) = second.client.into_split();
    let mut reader = BufReader::new(reader).lines();
    writer.write_all(format!("{}\n", old(1, "ping", "")).as_bytes()).await.expect("it reads");
    let answer =
        tokio::time::timeout(WAIT_MAX, reader.next_line()).await.expect("in time").expect("readable");
    assert!(answer.is_some_and(|line| line.contains(r#""id":1,"result":{}"#)));
    drop((reader, writer));
    tokio::time::timeout(WAIT_MAX, second.door).await.expect("it ends").expect("no panic").expect("in peace");
    assert!(!server.stopping.is_cancelled());
}

#[test]
fn a_file_is_not_handed_over() {
    assert!(!is_stream(tempfile::tempfile().expect("a file")));
    assert!(is_stream(std::io::pipe().expect("a pipe").0));
}

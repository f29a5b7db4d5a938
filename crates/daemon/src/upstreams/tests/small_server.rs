//! An MCP server at a Unix socket, with one tool that answers when it is told to, and one resource.
#![expect(clippy::disallowed_methods, reason = "a server stands in for others")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::OwnedWriteHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Mutex, Semaphore};
use tokio::task::JoinSet;
use upstream::Config;

/// Serves until it is dropped.
pub struct SmallServer {
    path: PathBuf,
    /// How many calls have come in.
    pub called: Arc<Semaphore>,
    /// How many calls may be answered.
    pub answers: Arc<Semaphore>,
    /// How often somebody has asked to hear of the resource.
    pub subscribed: Arc<Semaphore>,
    _tasks: JoinSet<()>,
}

/// What a server counts and waits for.
#[derive(Clone)]
struct Counts {
    called: Arc<Semaphore>,
    answers: Arc<Semaphore>,
    subscribed: Arc<Semaphore>,
}

impl SmallServer {
    /// Listens below the folder, and answers calls to `wait` with its name.
    pub fn new(folder: &Path, name: &'static str) -> SmallServer {
        SmallServer::offering(folder, name, "wait")
    }

    /// The same with another tool.
    pub fn offering(folder: &Path, name: &'static str, tool: &'static str) -> SmallServer {
        let path = folder.join(name);
        let listener = UnixListener::bind(&path).expect("free");
        let count = || Arc::new(Semaphore::new(0));
        let counts = Counts { called: count(), answers: count(), subscribed: count() };
        let Counts { called, answers, subscribed } = counts.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut clients = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                clients.spawn(client(stream, [name, tool], counts.clone()));
            }
        });
        SmallServer { path, called, answers, subscribed, _tasks: tasks }
    }

    /// The table that reaches it.
    pub fn table(&self) -> Config {
        Config { socket: Some(self.path.clone()), prefix: Some(String::new()), ..Config::default() }
    }

    /// The path of its socket.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

async fn client(stream: UnixStream, [name, tool]: [&'static str; 2], counts: Counts) {
    let (reader, writer) = stream.into_split();
    let (mut lines, writer) = (BufReader::new(reader).lines(), Arc::new(Mutex::new(writer)));
    let mut calls = JoinSet::new();
    while let Ok(Some(line)) = lines.next_line().await {
        let request: Value = serde_json::from_str(&line).expect("a client speaks JSON");
        let id = request["id"].clone();
        if id.is_null() {
            continue;
        }
        let answer = match request["method"].as_str().unwrap_or_default() {
            "initialize" => json!({ "result": {
                "protocolVersion": "2025-06-18", "capabilities": { "tools": {}, "resources": { "subscribe": true } },
                "serverInfo": { "name": name, "version": "1" },
            } }),
            "tools/list" => {
                json!({ "result": { "tools": [{ "name": tool, "inputSchema": { "type": "object" } }] } })
            }
            "tools/call" => {
                counts.called.add_permits(1);
                let (answers, writer) = (counts.answers.clone(), writer.clone());
                calls.spawn(async move {
                    answers.acquire().await.expect("open").forget();
                    let result = json!({ "content": [{ "type": "text", "text": name }] });
                    say(&writer, id, json!({ "result": result })).await;
                });
                continue;
            }
            "resources/list" => {
                json!({ "result": { "resources": [{ "uri": "it:///thing", "name": "thing" }] } })
            }
            "resources/templates/list" => json!({ "result": { "resourceTemplates": [] } }),
            "resources/subscribe" => {
                counts.subscribed.add_permits(1);
                json!({ "result": {} })
            }
            "ping" => json!({ "result": {} }),
            _ => json!({ "error": { "code": -32601, "message": "unknown" } }),
        };
        say(&writer, id, answer).await;
    }
}

async fn say(writer: &Mutex<OwnedWriteHalf>, id: Value, mut answer: Value) {
    answer["jsonrpc"] = "2.0".into();
    answer["id"] = id;
    // A client that has gone away needs no answer.
    let _ = writer.lock().await.write_all(format!("{answer}\n").as_bytes()).await;
}

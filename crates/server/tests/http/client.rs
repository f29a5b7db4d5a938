//! An HTTP client with no manners: any bytes out, every answer kept as it came.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gate::keys::KeyRequest;
use gate::{Caller, Role};
use serde_json::{Value, json};
use server::identity::{self, Identity};
use server::{Administration, Config, OperationFault, OperationFaultKind, Server, Workspaces, http};
use store::SqliteStore;
use tempfile::TempDir;
use testkit::{SampleGate, Walk, offer_burning_source, offer_one_more, offer_sample_source, offer_walk};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use wire::sse;

/// No answer takes longer on the slowest machine.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// Two workspaces with names, over the same tools.
struct Two([Arc<Server>; 2]);

impl Workspaces for Two {
    fn open(&self, name: &str) -> Result<Option<Arc<Server>>, String> {
        let at = ["a", "b"].iter().position(|known| *known == name);
        Ok(at.map(|at| self.0[at].clone()))
    }

    fn names(&self) -> Vec<String> {
        ["a", "b"].map(str::to_owned).to_vec()
    }

    fn close(&self, _: &str) {}
}

/// Has nothing done, and tells what it was asked for.
struct Told;

impl Administration for Told {
    fn perform(&self, operation: &str, input: Value, caller: &Caller) -> Result<Value, OperationFault> {
        let fault = |kind| OperationFault { kind, code: "planted".into(), message: "no".into() };
        match input["tool"].as_str() {
            Some("misused") => Err(fault(OperationFaultKind::Misused)),
            Some("unknown") => Err(fault(OperationFaultKind::Unknown)),
            Some("refused") => Err(fault(OperationFaultKind::Refused)),
            Some("failed") => Err(fault(OperationFaultKind::Failed)),
            _ => {
                let line = json!({ "seq": 7, "operation": operation, "input": input, "by": &**caller.id() });
                Ok(json!({ "lines": [line.to_string()] }))
            }
        }
    }

    fn manifest_problems(&self, manifest: &Value) -> Vec<String> {
        if manifest["id"].is_string() { Vec::new() } else { vec!["id: it is missing".to_owned()] }
    }
}

/// A door over sample tools.
pub(crate) struct Door {
    address: SocketAddr,
    /// The hand on the walking tools.
    pub(crate) walk: Walk,
    /// Knows who comes.
    pub(crate) identity: Arc<Identity>,
    pub(crate) gate: SampleGate,
    state: TempDir,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Door {
    /// One that is open to whoever is on this machine.
    pub(crate) async fn open() -> Door {
        Door::for_callers(&identity::Config::default(), Some(true)).await
    }

    /// One that knows callers by this section, and by the keys that are created in it.
    pub(crate) async fn for_callers(section: &identity::Config, open_on_loopback: Option<bool>) -> Door {
        let gate = SampleGate::new().taking_jobs();
        gate.gate.jobs().expect("it has jobs").serve(&gate.gate);
        offer_sample_source(gate.gate.catalog());
        let walk = offer_walk(gate.gate.catalog());
        let config = Config {
            bind: SocketAddr::from(([127, 0, 0, 1], 0)),
            hosts: vec!["crib.example".into()],
            origins: vec!["https://app.example".into()],
            open_on_loopback,
            socket: None,
            tls: None,
        };
        let state = tempfile::tempdir().expect("a folder");
        let identity = Arc::new(Identity::new(
            section,
            open_on_loopback,
            Arc::new(SqliteStore::at(state.path())),
            sandbox::Client::new(),
            || 1_000,
        ));
        let listener = http::bind(&config, &identity).await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let [server, a, b] =
            [(); 3].map(|()| Server::new(gate.gate.clone(), server::Instructions::default()));
        let (stop, stopped) = oneshot::channel();
        let knowing = identity.clone();
        let serving = tokio::spawn(async move {
            let beside = (Arc::new(Two([a, b])) as _, Arc::new(Told) as _);
            http::serve(server, beside, knowing, listener, &config, async { drop(stopped.await) }).await;
        });
        Door { address, walk, identity, gate, state, stop, serving }
    }

    /// Creates a key, as another process does.
    pub(crate) fn key(&self, name: &str, role: Role) -> String {
        self.key_of(name, role, false)
    }

    /// The same, for a person.
    pub(crate) fn person(&self, name: &str, role: Role) -> String {
        self.key_of(name, role, true)
    }

    fn key_of(&self, name: &str, role: Role, person: bool) -> String {
        let (roles, name) = (role.into(), name.to_owned());
        let request = KeyRequest { name, roles, scopes: None, person, now_ms: 0, expires_ms: None };
        let created = gate::keys::create(&SqliteStore::at(self.state.path()), request).expect("created");
        created.0.reveal().to_owned()
    }

    /// The port that it listens on.
    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Offers a tool that a person must allow.
    pub(crate) fn offer_burning(&self) {
        offer_burning_source(self.gate.gate.catalog());
    }

    /// Offers one more tool than at the start, or as many.
    pub(crate) fn offer_more(&self, more: bool) {
        offer_one_more(self.gate.gate.catalog(), more);
    }

    pub(crate) async fn connect(&self) -> Connection {
        #[expect(clippy::disallowed_methods, reason = "a client of our own door, on loopback")]
        let stream = TcpStream::connect(self.address).await.expect("it listens");
        Connection { stream, buffer: Vec::new() }
    }

    /// Sends a request on a connection of its own and reads the whole answer.
    pub(crate) async fn ask(&self, request: &Request) -> Answer {
        let mut connection = self.connect().await;
        connection.send(request).await;
        connection.answer().await
    }

    /// Opens a session and gives its id.
    pub(crate) async fn session(&self, revision: &str) -> String {
        let answer = self.ask(&Request::post(&initialize(revision))).await;
        answer.header("mcp-session-id").expect("a session").to_owned()
    }

    pub(crate) async fn close(self) {
        self.ended().await;
    }

    /// Closes it, and gives what stood behind it.
    pub(crate) async fn ended(self) -> SampleGate {
        drop(self.stop);
        within(self.serving).await.expect("it ends in peace");
        self.gate
    }
}

pub(crate) fn initialize(revision: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"t","version":"1"}}}}}}"#
    )
}

pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    timeout(WAIT_MAX, work).await.expect("it comes in time")
}

/// A request as text.
#[derive(Clone)]
pub(crate) struct Request {
    line: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Request {
    pub(crate) fn new(method: &str, path: &str) -> Request {
        let request = Request { line: format!("{method} {path}"), headers: Vec::new(), body: String::new() };
        request.with("Host", "127.0.0.1")
    }

    pub(crate) fn post(body: &str) -> Request {
        Request::post_to("/mcp", body)
    }

    pub(crate) fn post_to(path: &str, body: &str) -> Request {
        let request = Request { body: body.to_owned(), ..Request::new("POST", path) };
        request
            .with("Content-Type", "application/json")
            .with("Accept", "application/json, text/event-stream")
            .with("Content-Length", &body.len().to_string())
    }

    pub(crate) fn get(path: &str) -> Request {
        Request::new("GET", path).with("Accept", "text/event-stream")
    }

    /// A modern request with everything that belongs to it; `params` are the members beside `_meta`.
    pub(crate) fn modern(method: &str, params: &str) -> Request {
        let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;
        Request::modern_with(method, params, meta)
    }

    /// The same with these members of `_meta`.
    pub(crate) fn modern_with(method: &str, params: &str, meta: &str) -> Request {
        let comma = if params.is_empty() { "" } else { "," };
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}{comma}"_meta":{{{meta}}}}}}}"#
        );
        Request::post(&body).with("MCP-Protocol-Version", "2026-07-28").with("Mcp-Method", method)
    }

    /// One more header.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Request {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Without a header.
    pub(crate) fn without(mut self, name: &str) -> Request {
        self.headers.retain(|(there, _)| !there.eq_ignore_ascii_case(name));
        self
    }

    /// Another value for a header.
    pub(crate) fn but(self, name: &str, value: &str) -> Request {
        self.without(name).with(name, value)
    }
}

impl fmt::Display for Request {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} HTTP/1.1\r\n", self.line)?;
        self.headers.iter().try_for_each(|(name, value)| write!(out, "{name}: {value}\r\n"))?;
        write!(out, "\r\n{}", self.body)
    }
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(there, _)| there == name).map(|(_, value)| value.as_str())
    }

    /// The status, and the body in brief: of an error its code.
    pub(crate) fn brief(&self) -> String {
        let message: serde_json::Value = serde_json::from_str(&self.body).unwrap_or_default();
        if let Some(detail) = message["detail"].as_str() {
            return format!("{} {detail}", self.status);
        }
        match (&message["error"]["code"], &message["result"]) {
            (serde_json::Value::Null, serde_json::Value::Null) => {
                format!("{} {}", self.status, self.body.trim_end())
            }
            (serde_json::Value::Null, _) => format!("{} result", self.status),
            (code, _) => format!("{} {code}", self.status),
        }
    }
}

/// One connection.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn send(&mut self, request: &Request) {
        self.stream.write_all(request.to_string().as_bytes()).await.expect("it reads");
    }

    /// Whether nothing has come.
    pub(crate) fn is_silent(&self) -> bool {
        self.buffer.is_empty() && self.stream.try_read(&mut [0]).is_err()
    }

    /// Takes in more; false at the end.
    async fn fill(&mut self) -> bool {
        within(self.stream.read_buf(&mut self.buffer)).await.is_ok_and(|read| read > 0)
    }

    async fn take_until(&mut self, end: &[u8]) -> Option<String> {
        loop {
            if let Some(at) = self.buffer.windows(end.len()).position(|piece| piece == end) {
                let taken: Vec<u8> = self.buffer.drain(..at + end.len()).collect();
                return Some(String::from_utf8_lossy(&taken[..at]).into_owned());
            }
            if !self.fill().await {
                return None;
            }
        }
    }

    async fn take_bytes(&mut self, count: usize) -> Option<String> {
        while self.buffer.len() < count {
            if !self.fill().await {
                return None;
            }
        }
        let taken: Vec<u8> = self.buffer.drain(..count).collect();
        Some(String::from_utf8(taken).expect("UTF-8"))
    }

    /// The head of an answer, with an empty body.
    pub(crate) async fn head(&mut self) -> Answer {
        let head = self.take_until(b"\r\n\r\n").await.expect("an answer");
        let mut lines = head.split("\r\n");
        let status =
            lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|status| status.parse().ok());
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        };
        Answer {
            status: status.expect("a status line"),
            headers: lines.filter_map(header).collect(),
            body: String::new(),
        }
    }

    /// A piece of a body in chunks; nothing at its end.
    async fn chunk(&mut self) -> Option<String> {
        let length = self.take_until(b"\r\n").await?;
        let length = usize::from_str_radix(&length, 16).expect("a length");
        let chunk = self.take_bytes(length).await?;
        self.take_until(b"\r\n").await?;
        (length > 0).then_some(chunk)
    }

    /// A whole answer.
    pub(crate) async fn answer(&mut self) -> Answer {
        let mut answer = self.head().await;
        match answer.header("content-length").map(|length| length.parse().expect("a number")) {
            Some(length) => answer.body = self.take_bytes(length).await.expect("the whole body"),
            None if answer.header("transfer-encoding").is_some() => {
                while let Some(chunk) = self.chunk().await {
                    answer.body += &chunk;
                }
            }
            None => {}
        }
        answer
    }

    /// The events that come next, as many as asked for or up to the end of the stream, each as `ID KIND DATA` with
    /// `-` for what is not there. Pings of the stream are left out.
    pub(crate) async fn events(&mut self, count: usize) -> Vec<String> {
        let mut events = sse::Events::default();
        let mut found = Vec::new();
        while found.len() < count {
            let Some(chunk) = self.chunk().await else {
                found.push("end".to_owned());
                break;
            };
            events.feed(chunk.as_bytes()).expect("small");
            while let Some(event) = events.next_event() {
                let id = event.id.unwrap_or_else(|| "-".to_owned());
                found.push(format!("{id} {}", in_brief(&event.data)));
            }
        }
        found
    }
}

/// A message in brief.
fn in_brief(data: &str) -> String {
    let Ok(message) = serde_json::from_str::<serde_json::Value>(data) else { return data.to_owned() };
    match (&message["method"], &message["params"]["progress"]) {
        (serde_json::Value::String(method), serde_json::Value::Null) => method.clone(),
        (serde_json::Value::String(_), progress) => format!("progress {progress}"),
        _ => match &message["error"]["code"] {
            serde_json::Value::Null => format!("result of {}", message["id"]),
            code => format!("error {code}"),
        },
    }
}

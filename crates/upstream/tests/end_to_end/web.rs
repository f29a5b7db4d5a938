//! A scripted HTTP server on loopback: every request is kept, every answer is a function's.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{broadcast, watch};
use tool_api::{Outcome, ToolError};

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The head's lines in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Request {
    /// The value of a header, in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// The JSON-RPC method, and the id as text.
    pub(crate) fn asked(&self) -> (String, String) {
        let body: serde_json::Value = serde_json::from_str(&self.body).unwrap_or_default();
        (body["method"].as_str().unwrap_or_default().to_owned(), body["id"].to_string())
    }
}

/// Long enough for the client to have seen the body without its end.
const LATE: Duration = Duration::from_millis(2);

/// When an answer's end follows its body.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum End {
    AtOnce,
    /// In a packet of its own.
    Later,
    Never,
    /// Never, since the connection breaks.
    Cut,
}

/// What is said on streams that are open, from anywhere.
#[derive(Clone)]
pub(crate) struct Feed(broadcast::Sender<Option<String>>);

impl Feed {
    pub(crate) fn new() -> Feed {
        Feed(broadcast::Sender::new(64))
    }

    /// Says one message on every open stream. Nobody need listen.
    pub(crate) fn say(&self, message: &str) {
        let _ = self.0.send(Some(format!("event: message\ndata: {message}\n\n")));
    }

    /// Breaks every open stream.
    pub(crate) fn cut(&self) {
        let _ = self.0.send(None);
    }
}

/// What to answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: String,
    pub(crate) body: String,
    /// When the body's end follows.
    pub(crate) end: End,
    /// What is said behind the body.
    pub(crate) feed: Option<broadcast::Receiver<Option<String>>>,
}

impl Answer {
    pub(crate) fn new(status: u16, headers: &str, body: &str) -> Answer {
        Answer { status, headers: headers.to_owned(), body: body.to_owned(), end: End::AtOnce, feed: None }
    }

    pub(crate) fn json(body: &str) -> Answer {
        Answer::new(200, "Content-Type: application/json; charset=utf-8\r\nMcp-Session-Id: s1\r\n", body)
    }

    pub(crate) fn events(messages: &[&str]) -> Answer {
        let events: String = messages
            .iter()
            .map(|message| format!("event: message\r\nid: 1\r\ndata: {message}\r\n\r\n"))
            .collect();
        Answer::stream(&events)
    }

    /// A stream of events, written out.
    pub(crate) fn stream(events: &str) -> Answer {
        Answer::new(200, "Content-Type: text/event-stream\r\nMcp-Session-Id: s1\r\n", events)
    }

    pub(crate) fn cut(self) -> Answer {
        Answer { end: End::Cut, ..self }
    }

    /// Says what `feed` says from now on.
    pub(crate) fn fed(self, feed: &Feed) -> Answer {
        Answer { end: End::Never, feed: Some(feed.0.subscribe()), ..self }
    }

    pub(crate) fn held(self) -> Answer {
        Answer { end: End::Never, ..self }
    }

    pub(crate) fn ending_later(self) -> Answer {
        Answer { end: End::Later, ..self }
    }
}

type Script = Arc<dyn Fn(&Request) -> Answer + Send + Sync>;

/// A running server. It ends with the test's runtime.
#[derive(Clone)]
pub(crate) struct Web {
    pub(crate) port: u16,
    seen: Arc<Mutex<Vec<Request>>>,
    connections: Arc<Mutex<usize>>,
    late_ends: Arc<Mutex<usize>>,
    hang_ups: Arc<watch::Sender<usize>>,
}

impl Web {
    pub(crate) async fn start(script: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Web {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
        let port = listener.local_addr().expect("an address").port();
        let (seen, connections, late_ends) = (Arc::default(), Arc::default(), Arc::default());
        let hang_ups = Arc::new(watch::Sender::new(0));
        let web = Web { port, seen, connections, late_ends, hang_ups };
        let (script, serving): (Script, Web) = (Arc::new(script), web.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                *serving.connections.lock().expect("sound") += 1;
                tokio::spawn(serve(stream, script.clone(), serving.clone()));
            }
        });
        web
    }

    /// Everything asked so far.
    pub(crate) fn seen(&self) -> Vec<Request> {
        self.seen.lock().expect("sound").clone()
    }

    /// The methods asked so far: JSON-RPC's, or HTTP's for what has no body.
    pub(crate) fn methods(&self) -> Vec<String> {
        let name = |request: &Request| match request.asked().0 {
            method if !method.is_empty() => method,
            _ if request.method == "POST" => "answer".to_owned(),
            _ => request.method.clone(),
        };
        self.seen().iter().map(name).collect()
    }

    pub(crate) fn connections(&self) -> usize {
        *self.connections.lock().expect("sound")
    }

    pub(crate) fn late_ends(&self) -> usize {
        *self.late_ends.lock().expect("sound")
    }

    /// Waits until so many clients have hung up on an answer without an end.
    pub(crate) async fn until_hung_up(&self, clients: usize) {
        let mut hang_ups = self.hang_ups.subscribe();
        let waited =
            tokio::time::timeout(crate::world::PATIENCE, hang_ups.wait_for(|so_far| *so_far >= clients));
        waited.await.expect("they do not hang up").expect("the server lives");
    }

    /// Gives a call up once the server has been asked to make it.
    pub(crate) async fn give_up(&self, call: impl Future<Output = Result<Outcome, ToolError>>) {
        tokio::select! {
            said = call => panic!("it answered: {said:?}"),
            _ = self.until(|request| request.asked().0 == "tools/call") => {}
        }
    }

    /// Waits until a request is as wanted.
    pub(crate) async fn until(&self, wanted: impl Fn(&Request) -> bool) -> Request {
        let seen = async {
            loop {
                if let Some(request) = self.seen().into_iter().find(|request| wanted(request)) {
                    return request;
                }
                tokio::task::yield_now().await;
            }
        };
        let waited = tokio::time::timeout(crate::world::PATIENCE, seen).await;
        waited.unwrap_or_else(|_| panic!("only {:?}", self.methods()))
    }
}

async fn serve(mut stream: TcpStream, script: Script, web: Web) {
    // A late end must leave when it is written, as it does from real servers.
    stream.set_nodelay(true).expect("a socket");
    while let Some(request) = read(&mut stream).await {
        web.seen.lock().expect("sound").push(request.clone());
        let mut answer = script(&request);
        let head =
            format!("HTTP/1.1 {} X\r\nTransfer-Encoding: chunked\r\n{}\r\n", answer.status, answer.headers);
        let body = chunk(&answer.body);
        let end = if answer.end == End::AtOnce { "0\r\n\r\n" } else { "" };
        let whole =
            if answer.status == 204 { "HTTP/1.1 204 X\r\n\r\n".to_owned() } else { head + &body + end };
        // A client that went away is part of some tests.
        let _ = stream.write_all(whole.as_bytes()).await;
        match answer.end {
            End::AtOnce => {}
            End::Later => {
                tokio::time::sleep(LATE).await;
                let _ = stream.write_all(b"0\r\n\r\n").await;
                *web.late_ends.lock().expect("sound") += 1;
            }
            End::Never => {
                if let Some(feed) = &mut answer.feed {
                    while let Ok(Some(said)) = feed.recv().await {
                        let _ = stream.write_all(chunk(&said).as_bytes()).await;
                    }
                    return;
                }
                // It says nothing more on this connection.
                let _ = stream.read_to_end(&mut Vec::new()).await;
                return web.hang_ups.send_modify(|so_far| *so_far += 1);
            }
            End::Cut => return,
        }
    }
}

/// A piece of a body; none for nothing, which would end it.
fn chunk(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{:x}\r\n{text}\r\n", text.len()) }
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).to_ascii_lowercase().replace("\r\n", "\n");
    let method = head.split(' ').next().unwrap_or_default().to_ascii_uppercase();
    let request = Request { method, head, body: String::new() };
    let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    while bytes.len() < head_end + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(Request { body: String::from_utf8_lossy(&bytes[head_end..]).into_owned(), ..request })
}

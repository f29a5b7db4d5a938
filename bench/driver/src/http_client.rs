//! An MCP client over Streamable HTTP: one connection kept alive, one call at a time.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use super::client::{Client, POLL_INTERVAL};
use super::http_response::Response;
use super::message::{INITIALIZED, REVISION, Request};
use super::process::{Launch, Running};
use super::stdio_client::SILENCE_MAX;

/// See the stdio client: ids keep their length.
const FIRST_ID: u64 = 1_000_000;
const READ_BYTES: usize = 64 * 1024;

/// A started HTTP server.
pub(crate) struct HttpServer {
    /// The program itself.
    pub(crate) running: Running,
    /// Its port on the loopback.
    pub(crate) port: u16,
}

impl HttpServer {
    /// Starts the program that `launch` makes for a free port and waits until it accepts connections.
    pub(crate) fn start(launch: impl FnOnce(u16) -> anyhow::Result<Launch>) -> anyhow::Result<Self> {
        let port = free_port()?;
        let launch = launch(port)?;
        let mut running = launch.spawn_alone()?;
        let start = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if running.has_ended() || start.elapsed() > SILENCE_MAX {
                bail!("{} does not accept connections: {}", launch.name, running.complaint());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(Self { running, port })
    }

    /// Opens an MCP session; what the server complained about is part of the error.
    pub(crate) fn client(&self) -> anyhow::Result<HttpClient> {
        HttpClient::open(self.port).with_context(|| self.running.complaint())
    }
}

/// A port nobody listens on at this moment.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// The bytes of an HTTP request, made again for each call.
pub(crate) struct HttpRequest {
    head: String,
    body: Vec<u8>,
}

impl HttpRequest {
    /// For an endpoint on the loopback, within a session where there is one.
    pub(crate) fn new(port: u16, session: Option<&str>) -> Self {
        let session =
            session.map(|id| format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: {REVISION}\r\n"));
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{}Content-Length: ",
            session.unwrap_or_default()
        );
        Self { head, body: Vec::new() }
    }

    /// Appends the whole HTTP request to `output`.
    pub(crate) fn render(&mut self, request: &Request, id: u64, output: &mut Vec<u8>) {
        self.body.clear();
        request.render(id, &mut self.body);
        append(&self.head, &self.body, output);
    }
}

fn append(head: &str, body: &[u8], output: &mut Vec<u8>) {
    output.extend_from_slice(head.as_bytes());
    write!(output, "{}\r\n\r\n", body.len()).expect("writing to memory cannot fail");
    output.extend_from_slice(body);
}

/// A connection and what has come over it.
struct Wire {
    stream: TcpStream,
    input: Vec<u8>,
    filled: usize,
}

impl Wire {
    fn connect(port: u16) -> anyhow::Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE_MAX))?;
        Ok(Self { stream, input: vec![0; READ_BYTES], filled: 0 })
    }

    /// Sends one request and reads its response; the time ends when it has come whole. Nothing else can come,
    /// since one call is open at a time.
    fn exchange(&mut self, request: &[u8]) -> anyhow::Result<(Response<'_>, Duration)> {
        self.filled = 0;
        let start = Instant::now();
        self.stream.write_all(request)?;
        loop {
            if self.input.len() < self.filled + READ_BYTES {
                self.input.resize((self.filled + READ_BYTES).next_power_of_two(), 0);
            }
            let count = self.stream.read(&mut self.input[self.filled..])?;
            ensure!(count > 0, "the server closed the connection");
            self.filled += count;
            if Response::parse(&self.input[..self.filled])?.is_some() {
                break;
            }
        }
        let elapsed = start.elapsed();
        let response =
            Response::parse(&self.input[..self.filled])?.context("a response that was whole is not")?;
        ensure!(response.length == self.filled, "the server sent more than one response");
        Ok((response, elapsed))
    }
}

/// An open connection with its session.
pub(crate) struct HttpClient {
    wire: Wire,
    request: HttpRequest,
    output: Vec<u8>,
    answer: Vec<u8>,
    next_id: u64,
}

impl HttpClient {
    /// A connection to a program that speaks no protocol.
    pub(crate) fn bare(port: u16) -> anyhow::Result<Self> {
        let (wire, request) = (Wire::connect(port)?, HttpRequest::new(port, None));
        Ok(Self { wire, request, output: Vec::new(), answer: Vec::new(), next_id: FIRST_ID })
    }

    /// A connection with a session of its own, where the server keeps sessions.
    pub(crate) fn open(port: u16) -> anyhow::Result<Self> {
        let mut client = Self::bare(port)?;
        client.request.render(&Request::initialize(), 1, &mut client.output);
        let (response, _) = client.wire.exchange(&client.output).context("the handshake failed")?;
        let answered =
            response.messages().find_map(|message| Request::initialize().check(message).transpose());
        ensure!(answered.transpose()? == Some(1), "no answer to initialize (status {})", response.status);
        client.request = HttpRequest::new(port, response.session.as_deref());
        client.output.clear();
        append(&client.request.head, INITIALIZED, &mut client.output);
        let accepted = client.wire.exchange(&client.output)?.0.status;
        ensure!(accepted == 202 || accepted == 200, "a notification was answered with status {accepted}");
        Ok(client)
    }

    /// The connection and the head of its requests, for the crowd to drive without blocking.
    pub(crate) fn into_parts(self) -> (TcpStream, HttpRequest) {
        (self.wire.stream, self.request)
    }
}

impl Client for HttpClient {
    fn call(&mut self, request: &Request) -> anyhow::Result<Duration> {
        let id = self.next_id;
        self.next_id += 1;
        self.output.clear();
        self.request.render(request, id, &mut self.output);
        let (response, elapsed) = self.wire.exchange(&self.output)?;
        for message in response.messages() {
            if request.check(message)? == Some(id) {
                self.answer.clear();
                self.answer.extend_from_slice(message);
                return Ok(elapsed);
            }
        }
        bail!("no answer to {id} (status {})", response.status)
    }

    fn last_answer(&self) -> &[u8] {
        &self.answer
    }
}

//! What the bare gateway does, on the libraries that the product is built on: hyper and tokio, one thread. No checks and
//! no record, so it shows how much of what a gateway adds is theirs. `--port N --program PATH`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::process::Stdio;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use floor::argument;
use floor::json_members::{member, with_id};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{LocalSet, spawn_local};

/// As in the product.
const HEAD_WAIT_MAX: Duration = Duration::from_secs(30);

/// The program behind, which all clients share.
struct Behind {
    lines: mpsc::UnboundedSender<Vec<u8>>,
    /// Who waits under which id.
    waiting: RefCell<HashMap<u64, oneshot::Sender<Vec<u8>>>>,
    last_id: RefCell<u64>,
}

fn main() -> io::Result<()> {
    let port = argument::number("--port").ok_or(io::ErrorKind::InvalidInput)?;
    let program = argument::text("--program").ok_or(io::ErrorKind::InvalidInput)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(LocalSet::new().run_until(serve(port, program)))
}

async fn serve(port: u16, program: String) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    let (lines, to_write) = mpsc::unbounded_channel();
    let behind = Rc::new(Behind { lines, waiting: RefCell::default(), last_id: RefCell::default() });
    spawn_local(write(stdin, to_write));
    spawn_local(read(stdout, behind.clone()));
    loop {
        let (socket, _) = listener.accept().await?;
        spawn_local(connection(socket, behind.clone()));
    }
}

async fn write(mut stdin: ChildStdin, mut lines: mpsc::UnboundedReceiver<Vec<u8>>) -> io::Result<()> {
    while let Some(line) = lines.recv().await {
        stdin.write_all(&line).await?;
    }
    Ok(())
}

/// Hands each answer to the call that waits for it.
async fn read(stdout: ChildStdout, behind: Rc<Behind>) -> io::Result<()> {
    let (mut stdout, mut line) = (BufReader::new(stdout), Vec::new());
    while stdout.read_until(b'\n', &mut line).await? > 0 {
        line.pop();
        let answer = std::mem::take(&mut line);
        let id = member(&answer, b"id").and_then(|id| str::from_utf8(id).ok()?.parse().ok());
        let waiting = id.and_then(|id: u64| behind.waiting.borrow_mut().remove(&id));
        waiting.map(|waiting| waiting.send(answer));
    }
    Ok(())
}

async fn connection(socket: TcpStream, behind: Rc<Behind>) {
    let _ = socket.set_nodelay(true);
    let service = service_fn(|request| {
        let behind = behind.clone();
        async move { Ok::<_, Infallible>(answer(request, &behind).await.unwrap_or_else(failed)) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_WAIT_MAX);
    let _ = builder.serve_connection(TokioIo::new(socket), service).await;
}

/// Passes a message on under an id of ours, and its answer back under the caller's; nothing if the program is gone.
async fn answer(request: Request<Incoming>, behind: &Behind) -> Option<Response<Full<Bytes>>> {
    let call = request.into_body().collect().await.ok()?.to_bytes();
    let Some(id) = member(&call, b"id") else {
        behind.lines.send([&call, &b"\n"[..]].concat()).ok()?;
        return Some(with_status(StatusCode::ACCEPTED));
    };
    let number = behind.last_id.replace_with(|last| *last + 1) + 1;
    let (waiting, answer) = oneshot::channel();
    behind.waiting.borrow_mut().insert(number, waiting);
    let mut line = with_id(&call, id, number.to_string().as_bytes());
    line.push(b'\n');
    behind.lines.send(line).ok()?;
    let answer = answer.await.ok()?;
    let body = with_id(&answer, member(&answer, b"id")?, id);
    let mut response = Response::new(Full::from(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Some(response)
}

fn failed() -> Response<Full<Bytes>> {
    with_status(StatusCode::BAD_GATEWAY)
}

fn with_status(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::default();
    *response.status_mut() = status;
    response
}

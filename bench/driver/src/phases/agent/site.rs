//! A site on this machine: a page, and a service to search that takes its time.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// How long a search takes.
pub(super) const SEARCH_TIME: Duration = Duration::from_millis(100);

const PAGE: &str = "<!doctype html><title>Posts</title><main></main><script>\
    document.querySelector('main').innerHTML = '<h1>Posts</h1><p>A fence of n panels has n + 1 posts.</p>';</script>";

const FOUND: &str = r#"{"found":[{"title":"Posts","url":"http://localhost/posts","snippet":"how many"}]}"#;

/// Longest request that is read.
const REQUEST_BYTES_MAX: usize = 16 * 1024;

/// It serves until the driver ends.
pub(super) struct Site {
    pub(super) port: u16,
}

impl Site {
    pub(super) fn start() -> anyhow::Result<Site> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // Whoever hangs up gets no answer.
                thread::spawn(move || drop(serve(stream)));
            }
        });
        Ok(Site { port })
    }

    /// How long the site itself takes.
    pub(super) fn get(&self, path: &str) -> anyhow::Result<Duration> {
        let start = Instant::now();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        anyhow::ensure!(!answer.is_empty(), "the site did not answer");
        Ok(start.elapsed())
    }
}

/// One request, one answer.
fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    let (mut request, mut piece) = (Vec::new(), [0; 4096]);
    while !request.ends_with(b"\r\n\r\n") && request.len() < REQUEST_BYTES_MAX {
        match stream.read(&mut piece)? {
            0 => break,
            read => request.extend_from_slice(&piece[..read]),
        }
    }
    let (kind, body) = match request.starts_with(b"GET /find") {
        true => {
            thread::sleep(SEARCH_TIME);
            ("application/json", FOUND)
        }
        false => ("text/html", PAGE),
    };
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

//! Hosts of the internet.

use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A host whose connections are served by `serve`.
pub(super) async fn host<F>(address: &str, serve: fn(TcpStream) -> F) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind((address, 0)).await.expect("a port");
    let at = listener.local_addr().expect("bound");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    at
}

/// Says everything again, and its end.
pub(super) async fn echo(mut stream: TcpStream) {
    let (mut from, mut to) = stream.split();
    // Whoever hangs up is no concern of the test.
    let _ = tokio::io::copy(&mut from, &mut to).await;
    let _ = to.shutdown().await;
}

/// Speaks first, as mail servers and databases do, and then says everything again.
pub(super) async fn polite(mut stream: TcpStream) {
    stream.write_all(b"220 mail\r\n").await.expect("someone listens");
    echo(stream).await;
}

/// Counts until the end, and says the sum.
pub(super) async fn adder(mut stream: TcpStream) {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).await.expect("an end");
    stream.write_all(all.len().to_string().as_bytes()).await.expect("someone listens");
}

/// HTTP: says what it was asked; `/redirect` leads to where clouds keep credentials.
pub(super) async fn web(stream: TcpStream) {
    let service = service_fn(answer);
    // Whoever hangs up is no concern of the test.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.expect("a whole body").to_bytes();
    let mut headers: Vec<String> = parts
        .headers
        .iter()
        .map(|(name, value)| format!("{name}={}", value.to_str().expect("text")))
        .filter(|line| !line.starts_with("host="))
        .collect();
    headers.sort();
    let text =
        format!("{} {} [{}] {}", parts.method, parts.uri, headers.join(" "), String::from_utf8_lossy(&body));
    let mut response = Response::new(Full::new(Bytes::from(text)));
    if !parts.headers.contains_key("host") {
        *response.status_mut() = http::StatusCode::BAD_REQUEST;
    }
    let is_redirect = parts.uri.path() == "/redirect";
    let headers = response.headers_mut();
    headers.insert("connection", "x-private".parse().expect("a header"));
    headers.insert("x-private", "for the proxy".parse().expect("a header"));
    if is_redirect {
        headers.insert("location", "http://169.254.169.254/latest".parse().expect("a header"));
        *response.status_mut() = http::StatusCode::FOUND;
    }
    Ok(response)
}

/// Agrees to whatever it is asked to go on as, and says everything again, the request first.
pub(super) async fn switching(mut stream: TcpStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("a head"));
    }
    let agreed =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Key: 1\r\n\r\n";
    // A program that hangs up is no concern of the test.
    let _ = stream.write_all(agreed.as_bytes()).await;
    let _ = stream.write_all(&head).await;
    echo(stream).await;
}

/// HTTP that is none.
pub(super) async fn broken(mut stream: TcpStream) {
    // A program that is gone is no concern of the test.
    let _ = stream.write_all(b"220 mail\r\n\r\n").await;
}

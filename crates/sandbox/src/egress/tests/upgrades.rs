//! Plain HTTP that goes on as a WebSocket, through the proxy and past it.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::direct::door;
use super::program::{Program, read_exactly, read_head, within};
use super::servers::{host, switching, web};

const ASKED: &str = "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Key: 1\r\n\r\n";

/// What a host hears of a request, behind its answer; then bytes go both ways until both ends have come.
async fn goes_on(stream: &mut TcpStream, request: &str) {
    // Some do not wait for the answer.
    stream.write_all(format!("{request}ping").as_bytes()).await.expect("sent");
    let head = read_head(stream).await.to_ascii_lowercase();
    assert!(head.starts_with("http/1.1 101 ") && head.contains("\r\nupgrade: websocket\r\n"), "{head}");
    assert!(head.contains("\r\nx-key: 1\r\n"), "{head}");
    let heard = read_head(stream).await;
    assert!(heard.starts_with("GET /chat HTTP/1.1\r\n"), "{heard}");
    for line in ["connection: upgrade", "upgrade: websocket", "sec-websocket-key: 1"] {
        assert!(heard.to_ascii_lowercase().contains(&format!("\r\n{line}\r\n")), "{heard}");
    }
    assert!(!heard.contains("keep-alive"), "{heard}");
    assert_eq!(read_exactly(stream, 4).await, "ping");
    stream.write_all(b"pong").await.expect("sent");
    assert_eq!(read_exactly(stream, 4).await, "pong");
    stream.shutdown().await.expect("sent");
    assert_eq!(read_head(stream).await, "", "the end comes back");
}

#[tokio::test]
async fn a_websocket_passes_through_the_proxy_and_is_counted() {
    let port = host("127.1.0.1", switching).await.port();
    let program = Program::new(&[&format!("public.test:{port}")]);
    let request =
        format!("GET http://public.test:{port}/chat HTTP/1.1\r\nHost: public.test:{port}\r\n{ASKED}");
    goes_on(&mut program.connect().await, &request).await;
    let entries = program.journal.entries();
    assert_eq!(entries.len(), 1);
    assert!(entries[0].sent_bytes > 8 && entries[0].received_bytes > 8, "{entries:?}");
}

#[tokio::test]
async fn it_passes_beside_the_proxy_too() {
    let port = host("127.1.0.1", switching).await.port();
    let (mut stream, _) = door(port).await;
    goes_on(&mut stream, &format!("GET /chat HTTP/1.1\r\nHost: public.test:{port}\r\n{ASKED}")).await;
}

/// A request for `public.test`, which alone is allowed, and the status of its answer.
async fn check(is_switching: bool, request: &str, status: &str) {
    let at = if is_switching { host("127.1.0.1", switching).await } else { host("127.1.0.1", web).await };
    let program = Program::new(&[&format!("public.test:{}", at.port())]);
    let mut stream = program.connect().await;
    let request = request.replace("PORT", &at.port().to_string());
    stream.write_all(request.as_bytes()).await.expect("sent");
    let head = read_head(&mut stream).await;
    assert_eq!(head.split(' ').nth(1), Some(status), "{request:?}: {head}");
}

#[tokio::test]
async fn it_is_judged_like_any_request_and_nothing_else_is_switched_to() {
    let (to, other) =
        ("GET http://public.test:PORT/ HTTP/1.1\r\n", "GET http://evil.test:PORT/ HTTP/1.1\r\n");
    let named = "Host: public.test:PORT\r\n";
    check(true, &format!("{to}Host: evil.test:PORT\r\n{ASKED}"), "403").await;
    check(true, &format!("{other}Host: evil.test:PORT\r\n{ASKED}"), "403").await;
    check(true, &format!("{to}{named}{named}{ASKED}"), "400").await;
    // The host agrees to what it was not asked for.
    let h2c = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA\r\n\r\n";
    check(true, &format!("{to}{named}{h2c}"), "502").await;
    check(true, &format!("{to}{named}Upgrade: websocket\r\n\r\n"), "502").await;
    check(true, &format!("{to}{named}Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n\r\n"), "502").await;
    check(true, &format!("{to}{named}\r\n"), "502").await;
    // A host that does not agree answers, and is heard.
    check(false, &format!("{to}{named}{ASKED}"), "200").await;
}

#[tokio::test]
async fn it_ends_with_the_way_out() {
    let port = host("127.1.0.1", switching).await.port();
    let mut program = Program::new(&[&format!("public.test:{port}")]);
    let mut stream = program.connect().await;
    let request = format!("GET http://public.test:{port}/ HTTP/1.1\r\nHost: public.test:{port}\r\n{ASKED}");
    stream.write_all(request.as_bytes()).await.expect("sent");
    assert!(read_head(&mut stream).await.starts_with("HTTP/1.1 101 "));
    read_head(&mut stream).await;
    program.egress = None;
    let mut left = Vec::new();
    // A reset is an end, too.
    let _ = within(tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut left)).await;
}

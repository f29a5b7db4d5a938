//! A collector on loopback that answers what it is told to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

/// Sends one request to a collector that gives these answers, the last one for ever. Returns what came of it and how
/// often it was asked.
async fn sent(answers: &'static [&'static str]) -> (String, usize) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
    let address = listener.local_addr().expect("an address");
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let serving = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut request = vec![0; 4096];
            let read = stream.read(&mut request).await.expect("a request");
            let request = String::from_utf8_lossy(&request[..read]).into_owned();
            assert!(request.starts_with("POST /v1/logs HTTP/1.1\r\n"), "{request}");
            assert!(request.contains("content-type: application/json"), "{request}");
            let nth = count.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1);
            let (head, body) = answers[nth].split_once('|').unwrap_or((answers[nth], ""));
            let answer = format!(
                "HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).await.expect("a client");
        }
    });
    let collector = Collector::at(&format!("http://{address}"), None).expect("an address");
    let done = collector.send(Bytes::from_static(b"{}")).await;
    serving.abort();
    let done = done.map_or_else(|error| error.to_string(), |()| "taken".to_owned());
    (done, asked.load(Ordering::SeqCst))
}

#[track_caller]
fn check(answers: &'static [&'static str], expected: &str, asked: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    assert_eq!(runtime.block_on(sent(answers)), (expected.to_owned(), asked), "{answers:?}");
}

#[test]
fn a_collector_is_asked_again_while_it_is_busy_and_only_then() {
    check(&["200 OK|{}"], "taken", 1);
    check(&["200 OK"], "taken", 1);
    check(&["503 Busy\r\nretry-after: 0", "429 Slow\r\nretry-after: 0", "200 OK|{}"], "taken", 3);
    check(&["400 Bad|no \u{1b}[31mlogs"], "it answers 400 Bad Request: no \u{fffd}[31mlogs", 1);
    check(&["401 No"], "it answers 401 Unauthorized", 1);
    const REJECTED: &str =
        "200 OK|{\"partialSuccess\":{\"rejectedLogRecords\":\"2\",\"errorMessage\":\"too old\"}}";
    check(&[REJECTED], "it rejected some of them: too old", 1);
    let busy = "it answers 503 Service Unavailable, after 6 attempts";
    check(&["503 Busy\r\nretry-after: 0"], busy, 6);
}

#[test]
fn what_is_no_header_is_named_without_its_value() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let check = |text: &str, expected: Result<usize, &str>| {
        std::fs::write(file.path(), text).expect("a file");
        let place = file.path().display().to_string();
        let headers = read_headers(file.path()).map(|headers| headers.len());
        let headers = headers.map_err(|error| error.replace(&place, "FILE"));
        assert_eq!(headers, expected.map_err(str::to_owned), "{text}");
    };
    check("Authorization: Bearer planted\n\nX-Scope: 1\n", Ok(2));
    check("A: 1\nplanted", Err("--headers: line 2 of FILE is not `Name: value`"));
    check("a b: planted", Err("--headers: line 1 of FILE is not `Name: value`"));
}

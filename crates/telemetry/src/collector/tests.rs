//! A collector on loopback that answers what it is told to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

/// Sends one request to a collector that gives these answers, the last one for ever. Returns what came of it and how
/// often it was asked.
async fn sent(signal: Signal, answers: &'static [&'static str]) -> (String, usize) {
    #[expect(clippy::disallowed_methods, reason = "a collector on loopback")]
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
    let address = listener.local_addr().expect("an address");
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let path = if signal == Signal::Logs { "/v1/logs" } else { "/v1/traces" };
    let serving = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut request = vec![0; 4096];
            let read = stream.read(&mut request).await.expect("a request");
            let request = String::from_utf8_lossy(&request[..read]).into_owned();
            assert!(request.starts_with(&format!("POST {path} HTTP/1.1\r\n")), "{request}");
            assert!(request.contains("content-type: application/json"), "{request}");
            assert!(request.contains("x-scope: 1"), "{request}");
            let nth = count.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1);
            let (head, body) = answers[nth].split_once('|').unwrap_or((answers[nth], ""));
            let answer = format!(
                "HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).await.expect("a client");
        }
    });
    let uri = signal.address(&format!("http://{address}")).expect("an address");
    let headers = [("x-scope".parse().expect("a name"), HeaderValue::from_static("1"))];
    let collector = Collector::new(Client::new(), signal, uri, headers.into_iter().collect());
    let done = collector.send(Bytes::from_static(b"{}")).await;
    serving.abort();
    let done = done.map_or_else(|error| error.to_string(), |()| "taken".to_owned());
    (done, asked.load(Ordering::SeqCst))
}

#[track_caller]
fn check(signal: Signal, answers: &'static [&'static str], expected: &str, asked: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    assert_eq!(runtime.block_on(sent(signal, answers)), (expected.to_owned(), asked), "{answers:?}");
}

#[test]
fn a_collector_is_asked_again_while_it_is_busy_and_only_then() {
    use Signal::{Logs, Traces};
    check(Logs, &["200 OK|{}"], "taken", 1);
    check(Traces, &["200 OK"], "taken", 1);
    check(Traces, &["503 Busy\r\nretry-after: 0", "429 Slow\r\nretry-after: 0", "200 OK|{}"], "taken", 3);
    check(Logs, &["400 Bad|no \u{1b}[31m\nlogs"], "it answers 400 Bad Request: no \u{fffd}[31m logs", 1);
    check(Logs, &["401 No"], "it answers 401 Unauthorized", 1);
    const LOGS: &str =
        "200 OK|{\"partialSuccess\":{\"rejectedLogRecords\":\"2\",\"errorMessage\":\"too old\"}}";
    check(Logs, &[LOGS], "it rejected 2 of them: too old", 1);
    check(Traces, &[LOGS], "taken", 1);
    const SPANS: &str = "200 OK|{\"partialSuccess\":{\"rejectedSpans\":7}}";
    check(Traces, &[SPANS], "it rejected 7 of them: it does not say why", 1);
    let busy = "it answers 503 Service Unavailable, after 6 attempts";
    check(Logs, &["503 Busy\r\nretry-after: 0"], busy, 6);
}

#[test]
fn addresses() {
    let check = |text: &str, expected: Option<&str>| {
        let address = Signal::Logs.address(text).map(|uri| uri.to_string());
        assert_eq!(address.as_deref(), expected, "{text}");
    };
    check("http://127.0.0.1:4318", Some("http://127.0.0.1:4318/v1/logs"));
    check("https://collector.example/", Some("https://collector.example/v1/logs"));
    check("https://collector.example/mine?key=1", Some("https://collector.example/mine?key=1"));
    check("https://collector.example/?key=1", Some("https://collector.example/?key=1"));
    for wrong in ["collector.example:4318", "ftp://collector.example", "/v1/logs", "http://", ""] {
        check(wrong, None);
    }
}

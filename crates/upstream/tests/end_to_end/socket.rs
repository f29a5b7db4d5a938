//! Servers that listen at a Unix socket.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use upstream::Upstream;

use crate::world::*;

/// Speaks with one client; hangs up on a call if `hangs_up`.
async fn serve(stream: UnixStream, hangs_up: bool) {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let result = match message["method"].as_str().expect("a method") {
            "initialize" => {
                r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"near","version":"1"}}"#
            }
            "tools/list" => r#"{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}"#,
            "tools/call" if hangs_up => return,
            "tools/call" => r#"{"content":[]}"#,
            "server/discover" => "",
            _ => continue,
        };
        let id = &message["id"];
        let answer = match result {
            "" => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"what?"}}}}"#),
            result => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
        };
        writer.write_all(format!("{answer}\n").as_bytes()).await.expect("a client that reads");
    }
}

fn at(path: &Path) -> Arc<Upstream> {
    upstream(&format!("socket = {:?}", path.display().to_string()))
}

#[tokio::test]
async fn a_server_is_spoken_to_in_lines_and_connected_to_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("it.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let is_first = counted.fetch_add(1, Ordering::Relaxed) == 0;
            tokio::spawn(serve(stream, is_first));
        }
    });
    let it = at(&path);
    it.connect().await.expect("connected");
    assert_eq!(state(&it), "connected to near 1 (2025-11-25)");
    assert_eq!(
        shown(call(&it, "it_echo", "{}").await),
        "upstream_gone: `it` stopped before it answered; it is started again with the next call; \
         whether this call had an effect is unknown"
    );
    for _ in 0..3 {
        assert_eq!(shown(call(&it, "it_echo", "{}").await), r#"{"content":[]}"#);
    }
    it.end().await;
    assert_eq!(connections.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_socket_without_a_server_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("it.sock");
    let expected =
        format!("nobody listens at the socket {}; check that the server is running", path.display());
    assert_eq!(at(&path).connect().await.expect_err("nobody").to_string(), expected);
    // One that is left over.
    drop(UnixListener::bind(&path).expect("a socket"));
    assert_eq!(at(&path).connect().await.expect_err("nobody").to_string(), expected);
}

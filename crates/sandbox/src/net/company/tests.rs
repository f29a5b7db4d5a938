//! The address of a proxy, and what proxies answer.
#![expect(clippy::disallowed_methods, reason = "small servers on loopback")]

use tokio::net::TcpListener;

use super::*;

#[test]
fn proxies_are_written_in_one_way() {
    for (text, expected, authorization) in [
        ("http://proxy.corp:3128", "http://proxy.corp:3128", None),
        ("http://proxy.corp:3128/", "http://proxy.corp:3128", None),
        ("http://[fd00::1]:80", "http://[fd00::1]:80", None),
        ("http://me:secret@proxy.corp:1", "http://…@proxy.corp:1", Some("me:secret")),
        ("http://me:s%40%3Acret%25@proxy.corp:1", "http://…@proxy.corp:1", Some("me:s@:cret%")),
    ] {
        let proxy = CompanyProxy::parse(text).expect(text);
        assert_eq!(
            (proxy.to_string(), format!("{proxy:?}")),
            (expected.into(), format!("CompanyProxy({expected})"))
        );
        let sent = authorization.map(|user| format!("Basic {}", BASE64.encode(user.as_bytes())));
        assert_eq!(proxy.authorization, sent, "{text}");
    }
    for text in [
        "",
        "proxy.corp:3128",
        "proxy.corp",
        "https://proxy.corp:1",
        "socks5://proxy.corp:1",
        "http://proxy.corp",
        "http://proxy.corp:0",
        "http://proxy.corp:70000",
        "http://:1",
        "http://proxy.corp:1/path",
        "http://proxy.corp:1?x",
        "http://me%4@proxy.corp:1",
        "http://me%zz@proxy.corp:1",
    ] {
        let error = CompanyProxy::parse(text).expect_err(text);
        assert!(!error.to_string().contains("corp"), "{text}");
    }
}

/// A proxy that reads one request and answers with these parts, each in a segment of its own.
async fn check(user: &str, answer: &[&[u8]], expected: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let answer: Vec<Vec<u8>> = answer.iter().map(|part| part.to_vec()).collect();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        let request = read_head(&mut stream).await.expect("a request");
        for part in answer {
            stream.write_all(&part).await.expect("someone listens");
            tokio::task::yield_now().await;
        }
        String::from_utf8(request).expect("text")
    });
    let proxy = CompanyProxy::parse(&format!("http://{user}127.0.0.1:{port}")).expect("a proxy");
    let outcome = match proxy.tunnel("example.com:443").await {
        Ok(mut stream) => {
            let mut early = String::new();
            stream.read_to_string(&mut early).await.expect("text");
            format!("tunnel: {early}")
        }
        Err(error) => error.to_string(),
    };
    assert_eq!(outcome, expected);
    server.await.expect("no panic")
}

#[tokio::test]
async fn a_tunnel_begins_behind_the_head() {
    for answer in [
        &[&b"HTTP/1.1 200 Fine\r\nVia: x\r\n\r\n220 mail"[..]][..],
        &[b"HTTP/1.0 200 Fine\r\n\r", b"\n220 mail"],
        &[b"H", b"TTP/1.1 200 Connection established\r\n\r\n", b"220 mail"],
    ] {
        let request = check("", answer, "tunnel: 220 mail").await;
        assert_eq!(request, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n");
    }
    let request = check("me:pass@", &[b"HTTP/1.1 200 \r\n\r\n"], "tunnel: ").await;
    assert!(request.ends_with("\r\nProxy-Authorization: Basic bWU6cGFzcw==\r\n\r\n"), "{request}");
}

#[tokio::test]
async fn what_the_proxy_says_instead_is_told() {
    const GIANT: &[u8] = &[b'x'; HEAD_BYTES_MAX + 1];
    for (answer, expected) in [
        (
            &[&b"HTTP/1.1 407 Who are you\r\n\r\n"[..]][..],
            "the proxy of the company wants a user and a password, or others than it was given",
        ),
        (&[b"HTTP/1.1 403 No\r\n\r\n"], "the proxy of the company refuses it with status 403"),
        (&[b"SSH-2.0-x\r\n\r\n"], "the proxy of the company does not answer as a proxy does"),
        (&[b"HTTP/1.1 20"], "the proxy of the company does not answer as a proxy does"),
        (&[b"HTTP/1.1 200 x\r\n", GIANT], "the proxy of the company does not answer as a proxy does"),
    ] {
        check("", answer, expected).await;
    }
    let proxy = CompanyProxy::parse("http://127.0.0.1:1").expect("a proxy");
    let error = proxy.tunnel("example.com:443").await.expect_err("nobody listens");
    assert_eq!(error.to_string(), "the proxy of the company cannot be reached");
}

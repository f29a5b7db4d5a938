//! Plain HTTP through the proxy.

use tokio::io::AsyncWriteExt;

use super::program::{Program, read_exactly, read_head};
use super::servers::{broken, host, web};

/// Sends one request, and compares status and body; `PORT` is the port of a public and of a private host of HTTP.
async fn check(rules: &[&str], request: &str, expected: &str) {
    let port = host("127.1.0.1", web).await.port().to_string();
    let rules: Vec<String> = rules.iter().map(|rule| rule.replace("PORT", &port)).collect();
    let program = Program::new(&rules.iter().map(String::as_str).collect::<Vec<_>>());
    let answer = program.ask(&request.replace("PORT", &port)).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{request:?}: {answer:?}"));
    let status = head.split(' ').nth(1).expect("a status");
    assert_eq!(format!("{status} {body}").replace(&port, "PORT"), expected, "{request:?}");
    let head = head.to_ascii_lowercase();
    assert!(!head.contains("x-private") && !head.contains("keep-alive"), "{head}");
}

#[tokio::test]
async fn requests_are_passed_on_without_what_was_meant_for_us() {
    check(
        &["public.test:PORT"],
        "GET http://public.test:PORT/a?b=c HTTP/1.1\r\nHost: public.test:PORT\r\nAccept: x\r\nConnection: X-Hop\r\n\
         X-Hop: 1\r\nProxy-Authorization: secret\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nKeep-Alive: 5\r\n\
         Upgrade: h2c\r\n\r\n",
        "200 GET /a?b=c [accept=x] ",
    )
    .await;
    check(
        &["public"],
        "POST http://PUBLIC.test.:PORT HTTP/1.1\r\nHost: public.test:PORT\r\nContent-Length: 5\r\n\r\nhello",
        "200 POST / [content-length=5] hello",
    )
    .await;
    check(
        &["public"],
        "POST http://127.1.0.1:PORT/ HTTP/1.1\r\nHost: [::ffff:127.1.0.1]:PORT\r\nTransfer-Encoding: chunked\r\n\r\n\
         2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        "200 POST / [transfer-encoding=chunked] hello",
    )
    .await;
    // A Host that it declares to be for one hop stays all the same.
    check(
        &["public"],
        "GET http://public.test:PORT/ HTTP/1.1\r\nHost: public.test:PORT\r\nConnection: host\r\n\r\n",
        "200 GET / [] ",
    )
    .await;
}

#[tokio::test]
async fn requests_that_two_could_read_in_two_ways_are_refused() {
    let two_hosts = "400 toolcrib: a request needs one Host header\n";
    let other = "403 toolcrib: connect public.test:PORT is not allowed for this program: the request names another host; \
                 trying again does not help, whoever set this program up can allow public.test:PORT in the settings of \
                 Toolcrib\n";
    let no_host = "400 toolcrib: the address names no host that can be connected to\n";
    let proxy = "400 toolcrib: this is a proxy; it takes CONNECT, and requests with a whole http address\n";
    for (request, expected) in [
        (
            "GET http://public.test:PORT/ HTTP/1.1\r\nHost: public.test:PORT\r\nHost: evil.test\r\n\r\n",
            two_hosts,
        ),
        (
            "GET http://public.test:PORT/ HTTP/1.1\r\nHost: public.test:PORT\r\nHost: public.test:PORT\r\n\r\n",
            two_hosts,
        ),
        ("CONNECT public.test:PORT HTTP/1.1\r\nHost: public.test:PORT\r\nHost: a\r\n\r\n", two_hosts),
        ("GET http://public.test:PORT/ HTTP/1.1\r\n\r\n", two_hosts),
        ("GET http://public.test:PORT/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", other),
        // Without a port it is another one.
        ("GET http://public.test:PORT/ HTTP/1.1\r\nHost: public.test\r\n\r\n", other),
        (
            "GET http://public.test:PORT/ HTTP/1.1\r\nHost: a@public.test:PORT\r\n\r\n",
            "400 toolcrib: the Host header names no host\n",
        ),
        ("GET http://evil.test@public.test:PORT/ HTTP/1.1\r\nHost: public.test:PORT\r\n\r\n", no_host),
        ("GET http://2130706433/ HTTP/1.1\r\nHost: 2130706433\r\n\r\n", no_host),
        (
            "GET https://public.test:PORT/ HTTP/1.1\r\nHost: public.test:PORT\r\n\r\n",
            "400 toolcrib: only http addresses are passed on; use CONNECT for others\n",
        ),
        ("GET / HTTP/1.1\r\nHost: public.test:PORT\r\n\r\n", proxy),
        ("OPTIONS * HTTP/1.1\r\nHost: public.test:PORT\r\n\r\n", proxy),
        (
            "GET http://private.test/ HTTP/1.1\r\nHost: private.test\r\n\r\n",
            "403 toolcrib: connect private.test:80 is not allowed for this program: it leads to a private address, which \
             only a rule with its whole name allows; trying again does not help, whoever set this program up can allow \
             private.test:80 in the settings of Toolcrib\n",
        ),
    ] {
        check(&["public", "public.test:PORT"], request, expected).await;
    }
}

#[tokio::test]
async fn a_redirect_to_metadata_is_an_answer_and_refused_when_followed() {
    let port = host("127.1.0.1", web).await.port();
    let program = Program::new(&["public"]);
    let mut stream = program.connect().await;
    let request = |uri: &str, host: &str| format!("GET {uri} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let first = request(&format!("http://public.test:{port}/redirect"), &format!("public.test:{port}"));
    stream.write_all(first.as_bytes()).await.expect("sent");
    let head = read_head(&mut stream).await;
    assert!(
        head.starts_with("HTTP/1.1 302 ") && head.contains("location: http://169.254.169.254/latest"),
        "{head}"
    );
    read_exactly(&mut stream, "GET /redirect [] ".len()).await;
    // Over the same connection, which has been allowed something.
    stream
        .write_all(request("http://169.254.169.254/latest", "169.254.169.254").as_bytes())
        .await
        .expect("sent");
    let head = read_head(&mut stream).await;
    assert!(head.starts_with("HTTP/1.1 403 "), "{head}");
    let blocked = "connect 169.254.169.254:80 (it leads to the credentials of this machine in its cloud, which only a rule \
                   with that address allows)";
    assert_eq!(program.lines(), [format!("connect public.test:{port}").as_str(), blocked]);
}

#[tokio::test]
async fn many_requests_over_one_connection_are_judged_each() {
    let port = host("127.1.0.1", web).await.port();
    let program = Program::new(&[&format!("public.test:{port}")]);
    let mut stream = program.connect().await;
    for host in ["public.test", "evil.test", "public.test", "127.1.0.1"] {
        let request = format!("GET http://{host}:{port}/ HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("sent");
        let head = read_head(&mut stream).await;
        let status = if host == "public.test" { "HTTP/1.1 200 " } else { "HTTP/1.1 403 " };
        assert!(head.starts_with(status), "{host}: {head}");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        read_exactly(&mut stream, length.expect("a length").parse().expect("a number")).await;
    }
    let allowed = &program.journal.entries()[0];
    assert_eq!(allowed.connections, 2);
    assert!(allowed.sent_bytes > 50 && allowed.received_bytes > 50, "{allowed:?}");
    assert_eq!(program.journal.blocked().len(), 2);
}

#[tokio::test]
async fn a_host_that_speaks_no_http_is_told() {
    let at = host("127.1.0.1", broken).await;
    let program = Program::new(&["public"]);
    let answer = program.ask(&format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\n\r\n")).await;
    let sentence =
        format!("toolcrib: connect {at}: it closed the connection without an answer that is HTTP\n");
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.ends_with(&sentence), "{answer}");
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let program = Program::new(&["public"]);
    let long = "x".repeat(70_000);
    let answer = program
        .ask(&format!("GET http://public.test/ HTTP/1.1\r\nHost: public.test\r\nA: {long}\r\n\r\n"))
        .await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    assert_eq!(program.lines(), [""; 0]);
}

//! Connections past the proxy: by the name server's addresses.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use super::super::host::Destination;
use super::super::journal::Journal;
use super::program::{Program, access, read_exactly, read_to_end};
use super::servers::{host, polite, web};
use super::tls::hello;
use super::{super::direct, names::question};

/// A public host, and a program with the first three made-up addresses and its own loopback at the same port.
async fn program(rules: &[&str]) -> (Program, u16) {
    let port = host("127.1.0.1", polite).await.port();
    let at = |address: &str| SocketAddr::new(address.parse().expect("an address"), port);
    let doors = ["127.18.0.1", "127.18.0.2", "127.18.0.3", "127.0.0.1", "127.0.0.9"].map(at);
    let rules: Vec<String> = rules.iter().map(|rule| rule.replace("PORT", &port.to_string())).collect();
    let program = Program::with(&rules.iter().map(String::as_str).collect::<Vec<_>>(), None, &doors);
    (program, port)
}

async fn look_up(program: &Program, name: &str) -> [u8; 4] {
    let packet = question(name, 1);
    let reply = program.query(&packet, &packet).await;
    *reply.last_chunk().expect("an address")
}

async fn check(program: &Program, address: [u8; 4], port: u16, first: &[u8], expected: &str) {
    let mut stream = TcpStream::connect((std::net::IpAddr::from(address), port)).await.expect("a door");
    // It may be closed already.
    let _ = stream.write_all(first).await;
    let _ = stream.shutdown().await;
    let got = read_to_end(&mut stream).await;
    let last = program.lines().pop().unwrap_or_default().replace(&port.to_string(), "PORT");
    assert_eq!(format!("{got:?} {last}"), expected);
}

#[tokio::test]
async fn a_connection_goes_where_the_looked_up_name_leads() {
    let (program, port) = program(&["public.test:PORT", "private.test:443"]).await;
    let public = look_up(&program, "Public.TEST").await;
    assert_eq!(public, [127, 18, 0, 1]);
    check(&program, public, port, b"EHLO", r#""220 mail\r\nEHLO" connect public.test:PORT"#).await;
    let entry = &program.journal.entries()[0];
    assert_eq!((entry.sent_bytes, entry.received_bytes), (4, 14));
    // The name has a rule, but for another port.
    let private = look_up(&program, "private.test").await;
    check(&program, private, port, b"EHLO", r#""" connect private.test:PORT (no rule allows it)"#).await;
    // An address that was never given out.
    let expected = r#""" connect 127.18.0.3:PORT (no name was looked up for this address)"#;
    check(&program, [127, 18, 0, 3], port, b"EHLO", expected).await;
}

#[tokio::test]
async fn a_name_that_was_looked_up_for_nothing_is_told_once_the_program_has_ended() {
    let (program, port) =
        program(&["public.test:PORT", "private.test:443", "www.public.test:PORT", "mapped.test:22"]).await;
    let public = look_up(&program, "public.test").await;
    check(&program, public, port, b"EHLO", r#""220 mail\r\nEHLO" connect public.test:PORT"#).await;
    // By the proxy, to which it may have said the name.
    look_up(&program, "www.public.test").await;
    program.tunnel(&format!("www.public.test:{port}")).await.expect("a tunnel");
    let unmet = look_up(&program, "private.test").await;
    look_up(&program, "mapped.test").await;
    let datagram = tokio::net::UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    // What is sent so nobody sees.
    let _ = datagram.send_to(b"time?", (std::net::IpAddr::from(unmet), 123)).await;
    assert!(program.journal.blocked().is_empty());
    for _ in 0..2 {
        program.egress.as_ref().expect("it is open").ended();
        let told: Vec<_> = program.journal.blocked().iter().map(ToString::to_string).collect();
        let why =
            "nothing came of it: UDP goes nowhere, TCP only at ports 80, 443 and those that a rule names";
        assert_eq!(told, [format!("look up private.test ({why})"), format!("look up mapped.test ({why})")]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_that_was_looked_up_for_nothing_is_told_while_the_program_lasts() {
    let program = Program::new(&["private.test:443", "mapped.test:22"]);
    let mut blocked = program.journal.watch_blocked();
    for (count, name) in [(1, "private.test"), (2, "mapped.test")] {
        look_up(&program, name).await;
        assert_eq!(*blocked.borrow(), count - 1, "it has a while");
        blocked.wait_for(|blocked| *blocked == count).await.expect("it lasts");
    }
    let told: Vec<_> = program.journal.blocked().into_iter().map(|entry| entry.attempt.to_string()).collect();
    assert_eq!(told, ["look up private.test", "look up mapped.test"]);
}

#[tokio::test]
async fn a_looked_up_address_means_the_name_at_the_proxy_too() {
    let port = host("127.1.0.1", web).await.port();
    let program = Program::new(&[&format!("public.test:{port}")]);
    let at = std::net::IpAddr::from(look_up(&program, "public.test").await);
    assert!(program.tunnel(&format!("{at}:{port}")).await.is_ok());
    let answer = program.ask(&format!("GET http://{at}:{port}/ HTTP/1.1\r\nHost: {at}:{port}\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert_eq!(program.lines(), [format!("connect public.test:{port}")]);
    let head = program.tunnel(&format!("127.18.0.2:{port}")).await.expect_err("nobody has it");
    assert!(head.starts_with("HTTP/1.1 403 "), "{head}");
}

#[tokio::test]
async fn the_programs_own_loopback_is_localhost() {
    let (program, port) = program(&["public"]).await;
    check(&program, [127, 0, 0, 1], port, b"x", r#""" connect localhost:PORT (no rule allows it)"#).await;
    let other = r#""" connect 127.0.0.9:PORT (it leads to this machine, which only a rule for localhost and a port allows)"#;
    check(&program, [127, 0, 0, 9], port, b"x", other).await;
}

#[tokio::test]
async fn a_tls_handshake_names_the_host_that_was_looked_up() {
    let (program, port) = program(&["public.test:PORT"]).await;
    let public = look_up(&program, "public.test").await;
    let mut stream = TcpStream::connect((std::net::IpAddr::from(public), port)).await.expect("a door");
    let first = hello("public.test");
    stream.write_all(&first).await.expect("sent");
    read_exactly(&mut stream, 10 + first.len()).await;
    let mut stream = TcpStream::connect((std::net::IpAddr::from(public), port)).await.expect("a door");
    stream.write_all(&hello("evil.test")).await.expect("sent");
    let got = read_to_end(&mut stream).await;
    // What a server says first is passed on.
    assert!(got.is_empty() || got == "220 mail\r\n", "{got:?}");
    let blocked = format!("connect public.test:{port} (the TLS handshake names another host)");
    assert_eq!(program.journal.blocked()[0].to_string(), blocked);
}

/// A connection that came in for `public.test` at this port, where plain HTTP is spoken, and what is noted of it.
pub(super) async fn door(port: u16) -> (TcpStream, Arc<Journal>) {
    let (access, journal) = access(&[&format!("public.test:{port}")]);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let at = listener.local_addr().expect("bound");
    let to = Destination::parse(&format!("public.test:{port}"), None).expect("a destination");
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        direct::serve_http(stream, &to, &Arc::clone(&access)).await;
    });
    (TcpStream::connect(at).await.expect("a door"), journal)
}

/// One request on such a connection.
async fn check_http(request: &str, expected: &str) {
    let port = host("127.1.0.1", web).await.port();
    let (mut stream, journal) = door(port).await;
    stream.write_all(request.replace("PORT", &port.to_string()).as_bytes()).await.expect("sent");
    stream.shutdown().await.expect("sent");
    let answer = read_to_end(&mut stream).await;
    let status = answer.split(' ').nth(1).unwrap_or_default();
    let lines: Vec<String> = journal.entries().iter().map(ToString::to_string).collect();
    assert_eq!(
        format!("{status} {}", lines.join(", ")).replace(&port.to_string(), "PORT"),
        expected,
        "{request}"
    );
}

#[tokio::test]
async fn plain_requests_are_for_the_host_that_was_looked_up() {
    for (request, expected) in [
        ("GET / HTTP/1.1\r\nHost: public.test:PORT\r\n\r\n", "200 connect public.test:PORT"),
        (
            "GET http://public.test:PORT/ HTTP/1.1\r\nHost: public.test:PORT\r\n\r\n",
            "200 connect public.test:PORT",
        ),
        (
            "GET / HTTP/1.1\r\nHost: evil.test:PORT\r\n\r\n",
            "403 connect public.test:PORT (the request names another host)",
        ),
        (
            "GET http://evil.test/ HTTP/1.1\r\nHost: public.test:PORT\r\n\r\n",
            "403 connect public.test:PORT (the request names another host)",
        ),
        ("GET / HTTP/1.1\r\nHost: public.test:PORT\r\nHost: evil.test\r\n\r\n", "400 "),
        ("GET / HTTP/1.0\r\n\r\n", "400 "),
        (
            "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n",
            "403 connect public.test:PORT (the request names another host)",
        ),
    ] {
        check_http(request, expected).await;
    }
}

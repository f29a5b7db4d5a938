//! What a tool reaches over HTTP, and what is noted of it, against a small server on loopback.
#![expect(clippy::disallowed_methods, reason = "a small server on loopback")]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::super::address::Kind;
use super::super::dial::BoxFuture;
use super::super::rules::HostRules;
use super::*;

/// Names lead to loopback, which counts as public, but for two.
struct Names;

impl Network for Names {
    fn addresses<'a>(&'a self, name: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        let address = match name {
            "metadata.test" => Ipv4Addr::new(169, 254, 169, 254),
            "inside.test" => Ipv4Addr::new(10, 0, 0, 1),
            _ => Ipv4Addr::LOCALHOST,
        };
        Box::pin(async move { Ok(vec![SocketAddr::new(address.into(), port)]) })
    }

    fn kind(&self, address: IpAddr) -> Kind {
        if address.is_loopback() { Kind::Public } else { Kind::of(address) }
    }
}

/// Says which host it was asked for; of `/away` that it is elsewhere. Its port.
async fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("bound").port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = vec![0; 4096];
            let read = stream.read(&mut head).await.expect("a request");
            let head = String::from_utf8_lossy(&head[..read]).to_lowercase();
            let host = head.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
            let (status, location) = match head.starts_with("get /away") {
                true => ("302 Found", "Location: http://metadata.test/\r\n"),
                false => ("200 OK", ""),
            };
            let length = host.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{location}Connection: close\r\n\r\n{host}"
            );
            // Whoever asked may have gone.
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    port
}

/// What comes of asking for each address by these rules, and what is noted. `PORT` is the server's.
async fn check(words: &[&str], cases: &[(&str, &str)], noted: &[&str]) {
    let port = server().await.to_string();
    let rules = HostRules::parse(words.iter().map(|word| word.replace("PORT", &port))).expect("rules");
    let journal = Arc::new(Journal::new());
    let way = Arc::new(WayOut { rules, company: None, judge: None });
    let client = HostClient::new_in(&Client::new(), way, journal.clone(), Arc::new(Names)).await;
    for (address, expected) in cases {
        let request = Request::get(address.replace("PORT", &port)).header("host", "evil.test");
        let answer = client.send(request.body(Bytes::new()).expect("a request")).await;
        let found = match answer {
            Ok(answer) => {
                let status = answer.status().as_u16();
                let body = answer.into_body().collect().await.expect("a body").to_bytes();
                format!("{status} {}", String::from_utf8_lossy(&body))
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected.replace("PORT", &port), "{words:?} {address}");
    }
    let entries: Vec<_> = journal.entries().iter().map(ToString::to_string).collect();
    let noted: Vec<_> = noted.iter().map(|line| line.replace("PORT", &port)).collect();
    assert_eq!(entries, noted, "{words:?}");
    assert!(journal.entries().iter().all(|entry| (entry.sent_bytes > 0) == (entry.received_bytes > 0)));
    let sent: u64 = journal.entries().iter().map(|entry| entry.sent_bytes).sum();
    assert_eq!(sent > 0, cases.iter().any(|(_, expected)| expected.starts_with(char::is_numeric)));
}

#[tokio::test]
async fn a_tool_reaches_what_a_rule_allows_under_the_name_it_asked_for() {
    check(
        &["good.test:PORT"],
        &[
            ("http://good.test:PORT/x?secret", "200 good.test:PORT"),
            ("http://GOOD.test:PORT/", "200 good.test:PORT"),
            ("http://other.test:PORT/", "other.test:PORT may not be reached: no rule allows it"),
            ("http://good.test/", "good.test:80 may not be reached: no rule allows it"),
            ("https://good.test/", "good.test:443 may not be reached: no rule allows it"),
        ],
        &[
            "connect good.test:PORT",
            "connect other.test:PORT (no rule allows it)",
            "connect good.test:80 (no rule allows it)",
            "connect good.test:443 (no rule allows it)",
        ],
    )
    .await;
    check(
        &[],
        &[("http://good.test/", "good.test:80 may not be reached: no rule allows it")],
        &["connect good.test:80 (no rule allows it)"],
    )
    .await;
}

#[tokio::test]
async fn where_a_redirect_leads_is_judged_when_it_is_asked_for() {
    let metadata = "metadata.test:80 may not be reached: it leads to the credentials of this machine in its cloud, which \
                    only a rule with that address allows";
    let private = "inside.test:80 may not be reached: it leads to a private address, which only a rule with its whole \
                   name allows";
    check(
        &["public"],
        &[
            ("http://good.test:PORT/away", "302 good.test:PORT"),
            ("http://metadata.test/", metadata),
            ("http://inside.test/", private),
        ],
        &[
            "connect good.test:PORT",
            "connect metadata.test:80 (it leads to the credentials of this machine in its cloud, which only a rule with \
             that address allows)",
            "connect inside.test:80 (it leads to a private address, which only a rule with its whole name allows)",
        ],
    )
    .await;
}

#[tokio::test]
async fn what_two_readers_might_read_in_two_ways_is_not_asked_for() {
    let unreadable = "the address names no host that can be judged; write a plain host name, without a user";
    check(
        &["public"],
        &[
            ("http://s3cret@good.test:PORT/", unreadable),
            ("http://127.1:PORT/", unreadable),
            ("ftp://good.test/", "only full http and https addresses can be reached"),
            ("/x", "only full http and https addresses can be reached"),
        ],
        &[
            "connect good.test:PORT (it is not written as a host and a port)",
            "connect 127.1:PORT (it is not written as a host and a port)",
        ],
    )
    .await;
}

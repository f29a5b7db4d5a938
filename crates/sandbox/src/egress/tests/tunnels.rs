//! `CONNECT`: who gets a tunnel, and what goes through it.

use tokio::io::AsyncWriteExt;

use super::super::Outcome;
use super::program::{Program, connect, read_exactly, read_to_end, within};
use super::servers::{adder, echo, host, polite};

/// Asks for tunnels to `to`, with `PORT` as the port of a host that is public, private and local at once.
async fn check(rules: &[&str], cases: &[(&str, &str)]) {
    let public = host("127.1.0.1", echo).await.port();
    let rules: Vec<String> = rules.iter().map(|rule| rule.replace("PORT", &public.to_string())).collect();
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    for (to, expected) in cases {
        let to = to.replace("PORT", &public.to_string());
        let program = Program::new(&rules);
        let got = match program.tunnel(&to).await {
            Ok(_) => "tunnel".to_owned(),
            Err(head) => head.split(' ').nth(1).unwrap_or_default().to_owned(),
        };
        let blocked: Vec<String> = program
            .journal
            .blocked()
            .iter()
            .map(|entry| match entry.outcome {
                Outcome::Blocked(reason) => reason.to_string(),
                Outcome::Allowed => panic!("{entry} is not blocked"),
            })
            .collect();
        assert_eq!([&[got][..], &blocked].concat().join(": "), *expected, "{rules:?} {to:?}");
    }
}

const NO_RULE: &str = "403: no rule allows it";
const PRIVATE: &str = "403: it leads to a private address, which only a rule with its whole name allows";
const THIS_MACHINE: &str = "403: it leads to this machine, which only a rule for localhost and a port allows";
const METADATA: &str = "403: it leads to the credentials of this machine in its cloud, which only a rule with that address allows";
const NO_HOST: &str = "400: it is not written as a host and a port";

#[tokio::test]
async fn public_hosts() {
    check(
        &["public"],
        &[
            ("public.test:PORT", "tunnel"),
            ("PUBLIC.test.:PORT", "tunnel"),
            ("127.1.0.1:PORT", "tunnel"),
            // Only its public address is dialled.
            ("both.test:PORT", "tunnel"),
            ("[::ffff:127.1.0.1]:PORT", "tunnel"),
            ("private.test:PORT", PRIVATE),
            ("local.test:PORT", THIS_MACHINE),
            ("mapped.test:PORT", THIS_MACHINE),
            ("metadata.test:80", METADATA),
            ("169.254.169.254:80", METADATA),
            ("[::ffff:a9fe:a9fe]:80", METADATA),
            ("[fd00:ec2::254]:80", METADATA),
            (
                "link.test:80",
                "403: it leads to a link-local address, which only a rule with that address allows",
            ),
            ("nobody.test:PORT", "403: it leads to an address of no use on the internet"),
            ("0.0.0.0:PORT", "403: it leads to an address of no use on the internet"),
            ("[::]:PORT", "403: it leads to an address of no use on the internet"),
            ("localhost:PORT", NO_RULE),
            ("127.0.0.1:PORT", NO_RULE),
            ("[::1]:PORT", NO_RULE),
            ("nowhere.test:443", "502"),
            ("empty.test:443", "502"),
        ],
    )
    .await;
}

#[tokio::test]
async fn named_hosts() {
    check(
        &["public.test:PORT", "*.private.test:PORT", "local.test:PORT", "metadata.test"],
        &[
            ("public.test:PORT", "tunnel"),
            ("public.test:443", NO_RULE),
            ("www.public.test:PORT", NO_RULE),
            ("public.test.evil.test:PORT", NO_RULE),
            ("127.1.0.1:PORT", NO_RULE),
            // A wildcard leads to public addresses only.
            ("www.private.test:PORT", PRIVATE),
            ("private.test:PORT", NO_RULE),
            // Nor does a name lead to this machine, whoever wrote it.
            ("local.test:PORT", THIS_MACHINE),
            ("metadata.test:80", METADATA),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_name_or_an_address_that_a_person_wrote_may_be_private() {
    let private = host("127.2.0.1", echo).await.port();
    let local = host("127.0.0.1", echo).await.port();
    let rules =
        [format!("private.test:{private}"), format!("localhost:{local}"), format!("127.2.0.1:{private}")];
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    for (rules, to) in [
        (&rules[..1], format!("private.test:{private}")),
        (&rules[1..2], format!("localhost:{local}")),
        (&rules[1..2], format!("127.0.0.1:{local}")),
        (&rules[2..], format!("127.2.0.1:{private}")),
    ] {
        let program = Program::new(rules);
        assert!(program.tunnel(&to).await.is_ok(), "{to}");
        assert!(program.tunnel("private.test:81").await.is_err(), "{to}");
        let other = if to.starts_with("127.2") { "private.test" } else { "127.2.0.1" };
        assert!(program.tunnel(&format!("{other}:{private}")).await.is_err(), "{to}");
    }
}

#[tokio::test]
async fn what_names_no_host() {
    check(
        &["public", "public.test:PORT"],
        &[
            ("2130706433:PORT", NO_HOST),
            ("0x7f.1:PORT", NO_HOST),
            ("0177.0.0.1:PORT", NO_HOST),
            ("127.1:PORT", NO_HOST),
            ("user@public.test:PORT", NO_HOST),
            ("evil.test:80@public.test:PORT", NO_HOST),
            ("public..test:PORT", NO_HOST),
            ("public.test", NO_HOST),
            ("public.test:0", NO_HOST),
            // No HTTP at all.
            ("evil\0.public.test:PORT", "400"),
            ("bücher.test:PORT", "400"),
            ("/etc/passwd", NO_HOST),
        ],
    )
    .await;
}

#[tokio::test]
async fn an_answer_that_flips_is_judged_each_time() {
    let port = host("127.1.0.1", echo).await.port();
    let program = Program::new(&["public"]);
    let to = format!("flip.test:{port}");
    assert!(program.tunnel(&to).await.is_ok());
    for _ in 0..2 {
        let head = program.tunnel(&to).await.expect_err("this machine");
        assert!(head.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{head}");
    }
    let lines = [
        format!("connect {to}"),
        format!("connect {to} (it leads to this machine, which only a rule for localhost and a port allows)"),
    ];
    assert_eq!(program.lines(), lines);
    assert_eq!(program.journal.blocked()[0].connections, 2);
}

#[tokio::test]
async fn a_refusal_says_what_to_do() {
    let answer = Program::new(&["public"]).ask(&connect("db.internal:5432")).await;
    assert!(
        answer.ends_with("\r\n\r\ntoolcrib: connect db.internal:5432: the name could not be resolved\n"),
        "{answer}"
    );
    let answer = Program::new(&["example.com"]).ask(&connect("db.internal:5432")).await;
    let sentence = "toolcrib: connect db.internal:5432 is not allowed for this program: no rule allows it; trying again \
                    does not help, whoever set this program up can allow db.internal:5432 in the settings of Toolcrib\n";
    assert!(answer.ends_with(sentence), "{answer}");
    let closed =
        tokio::net::TcpListener::bind("127.1.0.1:0").await.expect("a port").local_addr().expect("bound");
    let answer = Program::new(&["public"]).ask(&connect(&closed.to_string())).await;
    let sentence = format!("toolcrib: connect {closed}: it cannot be reached: connection refused\n");
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.ends_with(&sentence), "{answer}");
}

#[tokio::test]
async fn a_million_bytes_go_both_ways_and_are_counted() {
    const BYTES: usize = 1 << 20;
    let program = Program::new(&["public"]);
    let to = host("127.1.0.1", echo).await;
    let mut stream = program.tunnel(&to.to_string()).await.expect("a tunnel");
    let sent: String = (0..BYTES).map(|number| char::from(b'a' + (number % 23) as u8)).collect();
    let (mut from, mut into) = stream.split();
    let write = async {
        into.write_all(sent.as_bytes()).await.expect("sent");
        into.shutdown().await.expect("sent");
    };
    let mut received = Vec::new();
    let read = tokio::io::AsyncReadExt::read_to_end(&mut from, &mut received);
    within(async { tokio::join!(write, read) }).await.1.expect("all");
    assert!(received == sent.as_bytes());
    let entry = &program.journal.entries()[0];
    let counts = (entry.connections, entry.sent_bytes, entry.received_bytes);
    assert_eq!(counts, (1, BYTES as u64, BYTES as u64));
}

#[tokio::test]
async fn an_end_of_one_direction_is_not_the_end_of_the_other() {
    let program = Program::new(&["public"]);
    let to = host("127.1.0.1", adder).await;
    let mut stream = program.tunnel(&to.to_string()).await.expect("a tunnel");
    stream.write_all(b"hello").await.expect("sent");
    stream.shutdown().await.expect("sent");
    assert_eq!(read_to_end(&mut stream).await, "5");
}

#[tokio::test]
async fn a_server_may_speak_first_and_a_program_before_its_answer() {
    let program = Program::new(&["public"]);
    let to = host("127.1.0.1", polite).await.to_string();
    let mut stream = program.tunnel(&to).await.expect("a tunnel");
    assert_eq!(read_exactly(&mut stream, 10).await, "220 mail\r\n");
    let mut stream = program.connect().await;
    stream.write_all(format!("{}EHLO", connect(&to)).as_bytes()).await.expect("sent");
    stream.shutdown().await.expect("sent");
    let answer = read_to_end(&mut stream).await;
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n220 mail\r\nEHLO"),
        "{answer}"
    );
}

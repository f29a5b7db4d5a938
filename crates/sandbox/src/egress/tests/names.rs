//! The name server over its socket.

use super::program::Program;

/// A question with the number 0x0102, as resolvers send it.
pub(super) fn question(name: &str, kind: u8) -> Vec<u8> {
    let mut packet = vec![1, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.').filter(|label| !label.is_empty()) {
        packet.push(label.len() as u8);
        packet.extend_from_slice(label.as_bytes());
    }
    packet.extend_from_slice(&[0, 0, kind, 0, 1]);
    packet
}

const A: u8 = 1;
const AAAA: u8 = 28;
const MX: u8 = 15;
const HTTPS: u8 = 65;

/// Asks one question after the other: code, number of answers, and the address.
async fn check(rules: &[&str], cases: &[(&str, u8, &str)], lines: &[&str]) {
    let program = Program::new(rules);
    for (name, kind, expected) in cases {
        let packet = question(name, *kind);
        let reply = program.query(&packet, &packet).await;
        assert_eq!(reply[..2], [1, 2], "{name}");
        let address = &reply[reply.len().min(packet.len() + 12)..];
        let address = match (<[u8; 4]>::try_from(address), <[u8; 16]>::try_from(address)) {
            (Ok(address), _) => std::net::IpAddr::from(address).to_string(),
            (_, Ok(address)) => std::net::IpAddr::from(address).to_string(),
            _ => String::new(),
        };
        assert_eq!(format!("{} {} {address}", reply[3] & 15, reply[7]), *expected, "{name} {kind}");
    }
    assert_eq!(program.lines(), lines);
}

#[tokio::test]
async fn names_that_a_rule_could_allow_have_made_up_addresses() {
    check(
        &["example.com", "*.Example.org:8443", "localhost:5432"],
        &[
            ("example.com", A, "0 1 127.18.0.1"),
            ("EXAMPLE.com", A, "0 1 127.18.0.1"),
            ("www.example.org", A, "0 1 127.18.0.2"),
            ("example.com", AAAA, "0 0 "),
            ("example.com", MX, "0 0 "),
            ("a.example.org", HTTPS, "0 0 "),
            // No address is spent on what it would not answer.
            ("b.example.org", A, "0 1 127.18.0.3"),
            ("localhost", A, "0 1 127.0.0.1"),
            ("localhost", AAAA, "0 1 ::1"),
            ("localhost", MX, "0 0 "),
            ("1.0.18.198.in-addr.arpa", 12, "3 0 "),
        ],
        &[],
    )
    .await;
}

#[tokio::test]
async fn other_names_do_not_exist_and_are_told() {
    check(
        &["example.com"],
        &[
            ("www.example.com", A, "3 0 "),
            ("www.example.com", AAAA, "3 0 "),
            ("evil.test", A, "3 0 "),
            ("example.com.evil.test", A, "3 0 "),
            ("10.0.0.1", A, "3 0 "),
            ("2130706433", A, "3 0 "),
            ("a b.test", A, "3 0 "),
            ("", 2, "3 0 "),
        ],
        &[
            "look up www.example.com (no rule allows it)",
            "look up evil.test (no rule allows it)",
            "look up example.com.evil.test (no rule allows it)",
            "look up 10.0.0.1 (no rule allows it)",
        ],
    )
    .await;
}

#[tokio::test]
async fn all_names_exist_where_all_of_the_internet_may_be_reached() {
    check(&["public"], &[("example.com", A, "0 1 127.18.0.1"), ("evil.test", A, "0 1 127.18.0.2")], &[])
        .await;
}

#[tokio::test]
async fn silence_and_malformed_questions_do_not_stop_it() {
    let program = Program::new(&["example.com"]);
    let good = question("example.com", A);
    let answer = [1, 2, 0x81, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for silent in [&[][..], b"x", &answer, &[0; 1300]] {
        let reply = program.query(silent, &good).await;
        assert_eq!((reply[3] & 15, reply[7]), (0, 1), "{silent:?}");
    }
    let reply = program.query(&[1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], &good).await;
    assert_eq!(reply, [1, 2, 0x85, 0x81, 0, 0, 0, 0, 0, 0, 0, 0]);
}

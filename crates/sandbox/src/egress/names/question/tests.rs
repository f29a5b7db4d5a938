//! Packets as resolvers send them, and as nobody should.

use super::*;

/// A query of `kind` for labels as they are, with `extra` behind it.
fn query(labels: &[&[u8]], kind: u16, extra: &[u8]) -> Vec<u8> {
    let mut packet = vec![0xab, 0xcd, 0x01, 0x20, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in labels {
        packet.push(label.len() as u8);
        packet.extend_from_slice(label);
    }
    packet.push(0);
    packet.extend_from_slice(&kind.to_be_bytes());
    packet.extend_from_slice(&[0, 1]);
    packet.extend_from_slice(extra);
    packet
}

#[test]
fn questions_are_read() {
    let label = [b'a'; 63];
    for (labels, kind, name, asks) in [
        (&[&b"example"[..], b"com"][..], 1, "example.com", Asks::V4),
        (&[b"ExAmple", b"com"], 28, "ExAmple.com", Asks::V6),
        (&[b"localhost"], 65, "localhost", Asks::Other),
        (&[b"evil\0", b"com"], 1, "evil\0.com", Asks::V4),
        (&[&label], 1, &"a".repeat(63), Asks::V4),
        (&[], 2, "", Asks::Other),
    ] {
        let packet = query(labels, kind, b"\0\0\x29\x04\xd0\0\0\0\0\0\0");
        let question = read(&packet).expect("a question");
        assert_eq!((question.name.as_str(), question.asks), (name, asks));
    }
}

#[test]
fn answers_repeat_the_question() {
    let packet = query(&[b"a", b"Test"], 1, b"ignored");
    let question = read(&packet).expect("a question");
    let asked = b"\x01a\x04Test\0\0\x01\0\x01";
    for (code, address, expected) in [
        (Code::NoSuchName, None, [b"\xab\xcd\x85\x83\0\x01\0\0\0\0\0\0", &asked[..]].concat()),
        (
            Code::Fine,
            Some("198.18.0.1"),
            [
                b"\xab\xcd\x85\x80\0\x01\0\x01\0\0\0\0",
                &asked[..],
                b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc6\x12\0\x01",
            ]
            .concat(),
        ),
        (
            Code::Fine,
            Some("::1"),
            [
                b"\xab\xcd\x85\x80\0\x01\0\x01\0\0\0\0",
                &asked[..],
                b"\xc0\x0c\0\x1c\0\x01\0\0\0\x3c\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01",
            ]
            .concat(),
        ),
    ] {
        let address = address.map(|address| address.parse().expect("an address"));
        assert_eq!(question.reply(code, address), expected, "{code:?} {address:?}");
    }
}

#[test]
fn what_is_malformed_is_told_or_left() {
    let good = query(&[b"a", b"test"], 1, b"");
    let changed = |at: usize, byte: u8| {
        let mut packet = good.clone();
        packet[at] = byte;
        packet
    };
    let code = |code: u8| Some(code);
    let long: Vec<&[u8]> = vec![b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"; 9];
    for (what, packet, expected) in [
        ("nothing", vec![], None),
        ("half a header", good[..11].to_vec(), None),
        ("an answer", changed(2, 0x81), None),
        ("a giant", query(&[b"a"], 1, &[0; PACKET_BYTES_MAX]), None),
        ("a header alone", good[..12].to_vec(), code(1)),
        ("an update", changed(2, 0x29), code(4)),
        ("no question", changed(5, 0), code(1)),
        ("two questions", changed(5, 2), code(1)),
        ("256 questions", changed(4, 1), code(1)),
        ("an answer in a question", changed(7, 1), code(1)),
        ("another class", changed(good.len() - 1, 3), code(4)),
        ("half a name", good[..15].to_vec(), code(1)),
        ("no type", good[..good.len() - 3].to_vec(), code(1)),
        ("a pointer to itself", changed(12, 0xc0), code(1)),
        ("a label of a reserved kind", changed(12, 0x41), code(1)),
        ("a dot in a label", query(&[b"a.b", b"test"], 1, b""), code(1)),
        ("a name that is too long", query(&long, 1, b""), code(1)),
    ] {
        let reply = match read(&packet) {
            Ok(question) => panic!("{what}: {question:?}"),
            Err(NoQuestion::Silence) => None,
            Err(NoQuestion::Reply(reply)) => Some(reply),
        };
        let read = reply.as_ref().map(|reply| (reply[..2].to_vec(), reply[3] & 0x0f, reply.len()));
        assert_eq!(read, expected.map(|code| (vec![0xab, 0xcd], code, HEADER_BYTES)), "{what}");
    }
}

#[test]
fn no_packet_makes_it_panic() {
    let good = query(&[b"a", b"test"], 1, b"");
    for length in 0..=good.len() {
        for at in 0..length {
            for byte in 0..=255 {
                let mut packet = good[..length].to_vec();
                packet[at] = byte;
                if let Ok(question) = read(&packet) {
                    question.reply(Code::Fine, None);
                }
            }
        }
    }
}

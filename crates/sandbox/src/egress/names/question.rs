//! One question to a name server and its answer, as bytes (RFC 1035, section 4). Knows nothing of who may ask what.
//!
//! A library of DNS would be ten thousand lines for a message of one question without compression.

use std::net::IpAddr;

use super::super::host::HOST_BYTES_MAX;

/// The longest datagram that is looked at: what resolvers agree on as safe (DNS flag day 2020).
pub(super) const PACKET_BYTES_MAX: usize = 1232;

/// How long a program may keep an answer. Short, since an address that is given out again must not be an old friend.
const TTL_SECONDS: u32 = 60;

const HEADER_BYTES: usize = 12;

/// The class of the internet. There was never another one of use.
const CLASS_INTERNET: u16 = 1;

const TYPE_A: u16 = 1;
const TYPE_AAAA: u16 = 28;

/// What a question asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    V4,
    V6,
    /// Something that no name here has.
    Other,
}

/// The question of a packet, and what the answer has to repeat of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Question<'a> {
    header: [u8; 4],
    /// The question as it came: clients that mix upper and lower case look for their own spelling.
    bytes: &'a [u8],
    pub(super) name: String,
    pub(super) asks: Asks,
}

/// Why a packet has no question to answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoQuestion {
    /// Too little to answer to, or an answer itself.
    Silence,
    /// This answer.
    Reply(Vec<u8>),
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    Fine = 0,
    Malformed = 1,
    NoSuchName = 3,
    NotImplemented = 4,
}

/// Reads the one question of a packet. What stands behind it, such as the options of RFC 6891, is not looked at.
pub(super) fn read(packet: &[u8]) -> Result<Question<'_>, NoQuestion> {
    let Some((&[id_high, id_low, flags, more, rest @ ..], body)) = packet.split_first_chunk::<HEADER_BYTES>()
    else {
        return Err(NoQuestion::Silence);
    };
    let header = [id_high, id_low, flags, more];
    let is_answer = flags & 0x80 != 0;
    if is_answer || packet.len() > PACKET_BYTES_MAX {
        return Err(NoQuestion::Silence);
    }
    let is_query = flags & 0x78 == 0;
    if !is_query {
        return Err(NoQuestion::Reply(head(header, Code::NotImplemented, 0, 0)));
    }
    let malformed = || NoQuestion::Reply(head(header, Code::Malformed, 0, 0));
    let [0, 1, 0, 0, 0, 0, ..] = rest else {
        return Err(malformed());
    };
    let (name, end) = read_name(body).ok_or_else(malformed)?;
    let [type_high, type_low, class_high, class_low] = *body[end..].first_chunk().ok_or_else(malformed)?;
    if u16::from_be_bytes([class_high, class_low]) != CLASS_INTERNET {
        return Err(NoQuestion::Reply(head(header, Code::NotImplemented, 0, 0)));
    }
    let asks = match u16::from_be_bytes([type_high, type_low]) {
        TYPE_A => Asks::V4,
        TYPE_AAAA => Asks::V6,
        _ => Asks::Other,
    };
    Ok(Question { header, bytes: &body[..end + 4], name, asks })
}

/// A name and where it ends. A dot within a label would look like the border of two; pointers have no place in a question.
fn read_name(body: &[u8]) -> Option<(String, usize)> {
    let mut name = String::new();
    let mut at = 0;
    loop {
        let length = usize::from(*body.get(at)?);
        at += 1;
        match length {
            0 => return Some((name, at)),
            1..=63 => {
                let label = body.get(at..at + length)?;
                if label.contains(&b'.') || name.len() + length > HOST_BYTES_MAX {
                    return None;
                }
                if !name.is_empty() {
                    name.push('.');
                }
                name.push_str(&String::from_utf8_lossy(label));
                at += length;
            }
            _ => return None,
        }
    }
}

impl Question<'_> {
    /// An answer with an address, or with none.
    pub(super) fn reply(&self, code: Code, address: Option<IpAddr>) -> Vec<u8> {
        let mut reply = head(self.header, code, 1, u8::from(address.is_some()));
        reply.extend_from_slice(self.bytes);
        let (kind, octets) = match address {
            None => return reply,
            Some(IpAddr::V4(address)) => (TYPE_A, address.octets().to_vec()),
            Some(IpAddr::V6(address)) => (TYPE_AAAA, address.octets().to_vec()),
        };
        // The name is the one of the question, which begins behind the header.
        reply.extend_from_slice(&[0xc0, HEADER_BYTES as u8]);
        reply.extend_from_slice(&kind.to_be_bytes());
        reply.extend_from_slice(&CLASS_INTERNET.to_be_bytes());
        reply.extend_from_slice(&TTL_SECONDS.to_be_bytes());
        reply.extend_from_slice(&[0, octets.len() as u8]);
        reply.extend_from_slice(&octets);
        reply
    }
}

/// The header of an answer: ours is the last word on names, and further servers would be asked if there were any.
fn head([id_high, id_low, flags, _]: [u8; 4], code: Code, questions: u8, answers: u8) -> Vec<u8> {
    const ANSWER: u8 = 0x80;
    const AUTHORITATIVE: u8 = 0x04;
    const RECURSION_AVAILABLE: u8 = 0x80;
    let kept = flags & 0x79;
    let (first, second) = (ANSWER | AUTHORITATIVE | kept, RECURSION_AVAILABLE | code as u8);
    vec![id_high, id_low, first, second, 0, questions, 0, answers, 0, 0, 0, 0]
}

#[cfg(test)]
mod tests {
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
}

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
mod tests;

//! The first message of a TLS connection, as far as it tells which host is meant (RFC 8446, section 4.1.2; RFC 6066,
//! section 3). It is read and passed on as it came; nothing is decrypted.

/// What the first bytes of a connection are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hello {
    /// The beginning of one: more bytes will tell.
    Incomplete,
    /// No TLS.
    None,
    /// One that names a host.
    Name(String),
    /// One that names none.
    Nameless,
    /// TLS that no client sends as its first words, or that two readers might read in two ways.
    Unreadable,
}

const RECORD_HEADER_BYTES: usize = 5;
const MESSAGE_HEADER_BYTES: usize = 4;
const RECORD_HANDSHAKE: u8 = 22;
const MESSAGE_CLIENT_HELLO: u8 = 1;
const EXTENSION_SERVER_NAME: u16 = 0;
const NAME_HOST: u8 = 0;

/// Reads the first bytes of a connection. More of them never change an answer other than `Incomplete`.
pub(super) fn read(bytes: &[u8]) -> Hello {
    match bytes {
        [] => Hello::Incomplete,
        [first, ..] if first & 0x80 != 0 => read_old(bytes),
        _ => read_records(bytes),
    }
}

/// SSL 2 began like this, and servers long took it for the beginning of a newer version too. It has no names.
fn read_old(bytes: &[u8]) -> Hello {
    match bytes {
        [_, _, MESSAGE_CLIENT_HELLO, 3, ..] => Hello::Nameless,
        [_] | [_, _] | [_, _, MESSAGE_CLIENT_HELLO] => Hello::Incomplete,
        _ => Hello::None,
    }
}

/// The message may be cut into several records.
fn read_records(bytes: &[u8]) -> Hello {
    let mut message = Vec::new();
    let mut rest = bytes;
    loop {
        match record(rest) {
            Record::Incomplete(part) => {
                message.extend_from_slice(part);
                return read_message(&message);
            }
            Record::Whole(part, behind) => {
                message.extend_from_slice(part);
                rest = behind;
            }
            // Only the first bytes can show that it is no TLS.
            Record::None if rest.len() == bytes.len() => return Hello::None,
            Record::None | Record::Other => {
                return match read_message(&message) {
                    Hello::Incomplete => Hello::Unreadable,
                    read => read,
                };
            }
        }
    }
}

enum Record<'a> {
    Incomplete(&'a [u8]),
    Whole(&'a [u8], &'a [u8]),
    None,
    /// A record of TLS that has no place before the end of the message.
    Other,
}

fn record(bytes: &[u8]) -> Record<'_> {
    // All kinds of records: a server may pass over an alert before the message that it waits for.
    let is_one = [|kind: u8| (20..=24).contains(&kind), |major| major == 3, |minor| minor <= 4];
    if bytes.iter().zip(is_one).any(|(byte, fits)| !fits(*byte)) {
        return Record::None;
    }
    let Some((&[kind, _, _, high, low], behind)) = bytes.split_first_chunk::<RECORD_HEADER_BYTES>() else {
        return Record::Incomplete(&[]);
    };
    match usize::from(u16::from_be_bytes([high, low])) {
        0 => Record::Other,
        _ if kind != RECORD_HANDSHAKE => Record::Other,
        length => match behind.split_at_checked(length) {
            Some((part, behind)) => Record::Whole(part, behind),
            None => Record::Incomplete(behind),
        },
    }
}

fn read_message(message: &[u8]) -> Hello {
    match message {
        [kind, ..] if *kind != MESSAGE_CLIENT_HELLO => Hello::Unreadable,
        [_, lengths @ ..] => match lengths.split_first_chunk::<{ MESSAGE_HEADER_BYTES - 1 }>() {
            Some((&[high, middle, low], body)) => {
                let length = u32::from_be_bytes([0, high, middle, low]) as usize;
                match body.get(..length) {
                    Some(hello) => read_hello(hello).unwrap_or(Hello::Unreadable),
                    None => Hello::Incomplete,
                }
            }
            None => Hello::Incomplete,
        },
        [] => Hello::Incomplete,
    }
}

/// Nothing for what is not built as the RFC says.
fn read_hello(hello: &[u8]) -> Option<Hello> {
    const VERSION_AND_RANDOM_BYTES: usize = 2 + 32;
    let mut rest = hello.get(VERSION_AND_RANDOM_BYTES..)?;
    let _session = take(&mut rest, 1)?;
    let _ciphers = take(&mut rest, 2)?;
    let _compressions = take(&mut rest, 1)?;
    if rest.is_empty() {
        return Some(Hello::Nameless);
    }
    let mut extensions = take(&mut rest, 2)?;
    if !rest.is_empty() {
        return None;
    }
    let mut found = None;
    while !extensions.is_empty() {
        let (kind, behind) = extensions.split_first_chunk::<2>()?;
        extensions = behind;
        let data = take(&mut extensions, 2)?;
        if u16::from_be_bytes(*kind) == EXTENSION_SERVER_NAME && found.replace(read_names(data)?).is_some() {
            return None;
        }
    }
    Some(found.map_or(Hello::Nameless, Hello::Name))
}

/// The one name of a list: of several, two readers might take two.
fn read_names(mut data: &[u8]) -> Option<String> {
    let mut list = take(&mut data, 2)?;
    let (&kind, behind) = list.split_first()?;
    list = behind;
    let name = take(&mut list, 2)?;
    let is_one = kind == NAME_HOST && list.is_empty() && data.is_empty();
    (is_one && name.is_ascii()).then(|| String::from_utf8_lossy(name).into_owned())
}

/// Cuts off a value behind its length, which has `length_bytes` bytes.
fn take<'a>(rest: &mut &'a [u8], length_bytes: usize) -> Option<&'a [u8]> {
    let (length, behind) = rest.split_at_checked(length_bytes)?;
    let length = length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
    let (value, behind) = behind.split_at_checked(length)?;
    *rest = behind;
    Some(value)
}

#[cfg(test)]
mod tests;

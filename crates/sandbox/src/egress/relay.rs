//! Bytes passed on between a program and the host that it was allowed, both ways at once, counted. The first of them are
//! looked at: where they begin a TLS connection, it must be to that host.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::access::{Access, Opened, TlsName};
use super::hello::{self, Hello};
use super::host::{Destination, Host};
use super::reason::Reason;

/// What is read at once, for each direction of each connection.
const CHUNK_BYTES: usize = 16 * 1024;

/// The longest beginning of a TLS connection. With keys that outlast quantum computers they have two thousand bytes, with
/// tickets some more.
const HELLO_BYTES_MAX: usize = 32 * 1024;

/// From the first byte of a TLS connection to the end of its first message, which programs send in one go.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);

/// Relays until both sides have ended, or one of them is gone. `early` is what the program has sent already.
///
/// What the host says is passed on from the first moment: a mail server speaks before its client does. No silence is too
/// long, since only the two of them know what they wait for; a host that vanished is noticed by the system.
pub(super) async fn run(
    mut client: TcpStream,
    early: Vec<u8>,
    opened: Opened,
    to: &Destination,
    access: &Access,
) {
    let Opened { stream: mut server, tally, tls_name } = opened;
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let up = async {
        let first = first_bytes(&mut from_client, early, &tls_name).await.map_err(End::Blocked)?;
        to_server.write_all(&first).await?;
        tally.sent(first.len());
        copy(&mut from_client, &mut to_server, |bytes| tally.sent(bytes)).await
    };
    let down = async { copy(&mut from_server, &mut to_client, |bytes| tally.received(bytes)).await };
    let end = tokio::try_join!(up, down);
    if let Err(End::Blocked(reason)) = end {
        access.block(to, reason);
    }
}

/// Why a relay ended before both sides had.
enum End {
    Blocked(Reason),
    /// One of the two is gone; the other learns it from its own connection.
    Gone,
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> End {
        End::Gone
    }
}

/// Passes on until the end of `from`, and then the end itself: the other direction may go on.
async fn copy<R, W>(from: &mut R, to: &mut W, count: impl Fn(usize)) -> Result<(), End>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let length = from.read(&mut chunk).await?;
        if length == 0 {
            return Ok(to.shutdown().await?);
        }
        to.write_all(&chunk[..length]).await?;
        count(length);
    }
}

/// What the program says first, as soon as it is known that it may be said.
async fn first_bytes<R>(from: &mut R, early: Vec<u8>, allowed: &TlsName) -> Result<Vec<u8>, Reason>
where
    R: AsyncRead + Unpin,
{
    let mut bytes = early;
    if *allowed == TlsName::Any {
        return Ok(bytes);
    }
    if bytes.is_empty() && !more(from, &mut bytes).await {
        return Ok(bytes);
    }
    timeout(HELLO_TIMEOUT, judged(from, bytes, allowed)).await.unwrap_or(Err(Reason::UnreadableHello))
}

async fn judged<R>(from: &mut R, mut bytes: Vec<u8>, allowed: &TlsName) -> Result<Vec<u8>, Reason>
where
    R: AsyncRead + Unpin,
{
    loop {
        match hello::read(&bytes) {
            Hello::Incomplete if bytes.len() > HELLO_BYTES_MAX => return Err(Reason::UnreadableHello),
            Hello::Incomplete => {
                if !more(from, &mut bytes).await {
                    // Half a message begins nothing.
                    return Ok(bytes);
                }
            }
            hello => return allowed.judge(&hello).map(|()| bytes),
        }
    }
}

/// False at the end. An error is one at the next try as well.
async fn more<R: AsyncRead + Unpin>(from: &mut R, bytes: &mut Vec<u8>) -> bool {
    bytes.reserve(2048);
    from.read_buf(bytes).await.is_ok_and(|length| length > 0)
}

impl TlsName {
    fn judge(&self, hello: &Hello) -> Result<(), Reason> {
        match (self, hello) {
            (_, Hello::None) | (TlsName::Any, _) | (TlsName::EqualOrNone(_), Hello::Nameless) => Ok(()),
            (TlsName::Equal(host) | TlsName::EqualOrNone(host), Hello::Name(name)) => {
                if Host::parse(name).as_ref() == Ok(host) { Ok(()) } else { Err(Reason::OtherName) }
            }
            (TlsName::Equal(_), Hello::Nameless) => Err(Reason::NoName),
            (TlsName::Equal(_) | TlsName::EqualOrNone(_), Hello::Unreadable | Hello::Incomplete) => {
                Err(Reason::UnreadableHello)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_tls_handshake_that_stops_is_waited_for_no_longer_than_that() {
        const PIPE_BYTES: usize = 64 * 1024;
        // Records of a message that is longer than any.
        let mut endless = b"\x16\x03\x01\x40\0\x01\xff\xff\xff".to_vec();
        endless.extend_from_slice(&[0; 0x4000 - 4]);
        endless.extend(b"\x16\x03\x01\x40\0".iter().chain(&[0; 0x4000]).cycle().take(0x4005 * 2));
        let host = Host::parse("public.test").expect("a host");
        for (first, allowed, expected) in [
            (&b"\x16\x03\x01"[..], TlsName::Equal(host.clone()), Err(Reason::UnreadableHello)),
            (b"\x16", TlsName::EqualOrNone(host.clone()), Err(Reason::UnreadableHello)),
            (b"\x16\x03\x01", TlsName::Any, Ok(Vec::new())),
            (b"SSH", TlsName::Equal(host.clone()), Ok(b"SSH".to_vec())),
            (&endless, TlsName::Equal(host), Err(Reason::UnreadableHello)),
        ] {
            let (mut program, mut ours) = tokio::io::duplex(PIPE_BYTES);
            program.write_all(first).await.expect("sent");
            let before = tokio::time::Instant::now();
            assert_eq!(first_bytes(&mut ours, Vec::new(), &allowed).await, expected, "{allowed:?}");
            let is_waited_for = expected.is_err() && first.len() < 10;
            let waited = if is_waited_for { HELLO_TIMEOUT } else { Duration::ZERO };
            assert!(before.elapsed() <= waited + Duration::from_millis(1), "{allowed:?}");
        }
    }
}

//! One connection of the control channel: bounded JSON lines in both directions.

use std::io::{self, ErrorKind};
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::timeout;
use wire::{Line, Lines};

/// Who does not take a line within this time is not listening.
const TAKE_MAX: Duration = Duration::from_secs(10);

/// A connection.
pub(super) struct Talk {
    stream: UnixStream,
    lines: Lines,
}

impl Talk {
    /// A connection whose other side may say lines of so many bytes.
    pub(super) fn new(stream: UnixStream, line_bytes_max: usize) -> Talk {
        Talk { stream, lines: Lines::new(line_bytes_max) }
    }

    /// The next line; nothing at the end. Waits as long as it takes, and may be dropped at any time.
    ///
    /// # Errors
    /// If the connection fails, or the line is too long.
    pub(super) async fn hear(&mut self) -> io::Result<Option<Bytes>> {
        next_line(&mut self.stream, &mut self.lines).await
    }

    /// Says a line.
    ///
    /// # Errors
    /// If the connection fails, or the other side does not take it.
    pub(super) async fn say(&mut self, value: &impl Serialize) -> io::Result<()> {
        timeout(TAKE_MAX, self.stream.write_all(&json_line(value)))
            .await
            .unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))
    }
}

/// A value as it is said: JSON on a line of its own.
pub fn json_line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("what is said has text for keys");
    line.push(b'\n');
    line
}

/// The next line of a stream; nothing at the end. Waits as long as it takes, and may be dropped at any time.
///
/// # Errors
/// If the stream fails, or the line is too long.
pub async fn next_line(
    stream: &mut (impl AsyncRead + Unpin),
    lines: &mut Lines,
) -> io::Result<Option<Bytes>> {
    loop {
        match lines.next_line() {
            Some(Line::Whole(line)) => return Ok(Some(line)),
            Some(Line::TooLong) => {
                return Err(io::Error::new(ErrorKind::InvalidData, "the line is too long"));
            }
            None => {}
        }
        if stream.read_buf(lines.room()).await? == 0 {
            return Ok(None);
        }
    }
}

//! Standard output as a stream of lines.
//!
//! Lines gather in a buffer; one `write` takes all that one turn of the door has brought. While the reader
//! at the other end is slow the door waits here and reads nothing more, so the buffer stays bounded by
//! what one read can ask for.

use std::io::{self, Write};
use std::os::fd::OwnedFd;

use rustix::fs::FileType;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::unix::{OwnedWriteHalf, pipe};

use super::input::{file_type, is_stream, socket};

/// Room kept between turns, in bytes; what a larger answer needed beyond it is given back. A list of a thousand
/// tools fits: to give its pages back and ask for them again takes longer than to copy it.
const KEPT_BYTES_MAX: usize = 1024 * 1024;

enum Sink {
    Stream(Box<dyn AsyncWrite + Send + Unpin>),
    /// A terminal or file: written to directly, since it cannot be waited for.
    Direct,
}

/// Where a client reads.
pub(super) struct Output {
    sink: Sink,
    buffer: Vec<u8>,
}

impl Output {
    pub(super) fn open() -> io::Result<Output> {
        let stdout: OwnedFd = rustix::io::dup(rustix::stdio::stdout())?;
        if is_stream(&stdout) {
            return Output::of(stdout);
        }
        Ok(Output { sink: Sink::Direct, buffer: Vec::new() })
    }

    /// To a pipe or a socket.
    ///
    /// # Errors
    /// It is neither, or cannot be written to.
    pub(super) fn of(stream: OwnedFd) -> io::Result<Output> {
        let sink = Sink::Stream(match file_type(&stream)? {
            FileType::Socket => Box::new(socket(stream)?),
            _ => Box::new(pipe::Sender::from_owned_fd(stream)?),
        });
        Ok(Output { sink, buffer: Vec::new() })
    }

    /// To the other end of a connection.
    pub(super) fn connection(writer: OwnedWriteHalf) -> Output {
        Output { sink: Sink::Stream(Box::new(writer)), buffer: Vec::new() }
    }

    /// Where a line is being written; end it with [`Output::end_line`], giving where it began.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    pub(super) fn end_line(&mut self, start: usize) {
        wire::lines::end_line(&mut self.buffer, start);
    }

    /// Adds one line.
    pub(super) fn line(&mut self, frame: &[u8]) {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(frame);
        self.end_line(start);
    }

    /// Writes all that has gathered.
    pub(super) async fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        match &mut self.sink {
            Sink::Stream(writer) => writer.write_all(&self.buffer).await?,
            Sink::Direct => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(&self.buffer)?;
                stdout.flush()?;
            }
        }
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BYTES_MAX);
        Ok(())
    }
}
